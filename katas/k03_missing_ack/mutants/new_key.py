"""Takes the missing checkpoint for a failed payment, and pays again under a new key."""

from __future__ import annotations

from labkit.kata import World, atomic

CAUGHT_BY = "duplicate"


def resume(world: World) -> str:
    operation = world.operation()
    if operation.checkpointed:
        return "nothing to do"
    result = world.payments.submit(f"{operation.operation_id}:retry-{world.run_number}", operation.action)
    with atomic(world.journal.db):
        world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return result.status
