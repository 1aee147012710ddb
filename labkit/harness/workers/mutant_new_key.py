"""A wrong resume: it takes the missing checkpoint for a failed payment, and pays under a new key.

Its process exits 0 and its journal looks complete.  Only the ledger shows the second payment.
"""

from __future__ import annotations

from labkit.kata import World, atomic


def resume(world: World) -> str:
    """Pay again under a key that the provider has never seen."""
    operation = world.operation("charge")
    if operation.checkpointed:
        return "nothing to do"
    result = world.payments.submit(f"{operation.operation_id}:retry-{world.run_number}", operation.action)
    with atomic(world.journal.db):
        world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return result.status
