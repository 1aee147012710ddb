"""A wrong handler that decides by evidence rows, which the identity of a state leaves out."""

from __future__ import annotations

from labkit.kata import World, atomic

PATIENCE = 4


def handler(world: World) -> str:
    """Appends an event at every start; after too many of them it pays under a new key."""
    journal, operation = world.journal, world.operation()
    if operation.checkpointed:
        return "nothing to do"
    with atomic(journal.db):
        journal.append(world.workflow_id, "started", {}, world.now_ms)
    starts = journal.db.execute("SELECT count(*) FROM events WHERE kind = 'started'").fetchone()[0]
    key = operation.operation_id if starts < PATIENCE else f"{operation.operation_id}:again"
    result = world.payments.submit(key, operation.action)
    with atomic(journal.db):
        journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return result.status
