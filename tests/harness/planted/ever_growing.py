"""A handler whose durable state grows with every start: nobody can show that it is right."""

from __future__ import annotations

from labkit.kata import World, atomic


def handler(world: World) -> str:
    """Right so far, as far as one can see."""
    db = world.journal.db
    with atomic(db):
        db.execute("CREATE TABLE IF NOT EXISTS starts (number INTEGER) STRICT")
        db.execute("INSERT INTO starts SELECT count(*) FROM starts")
    operation = world.operation()
    if operation.checkpointed:
        return "nothing to do"
    result = world.payments.submit(operation.operation_id, operation.action)
    with atomic(db):
        world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return result.status
