"""The reference worker: two durable commits, the payment in the ledger, then the checkpoint.

Between the two lies the gap that this project is about.
"""

from __future__ import annotations

from labkit.kata import Boundary, World, atomic


def pay(world: World) -> str:
    """The first run: ask for the payment, then record that it is done."""
    operation = world.operation("charge")
    world.reached(Boundary.BEFORE_EFFECT)
    result = world.payments.submit(operation.operation_id, operation.action)
    with atomic(world.journal.db):
        if result.receipt is None:
            world.journal.refuse(operation.operation_id, result.status, world.now_ms)
        else:
            world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    world.reached(Boundary.CHECKPOINTED)
    return result.status


def resume(world: World) -> str:
    """Recovery: the same identity, and the effect's owner is asked before anything else."""
    operation = world.operation("charge")
    reading = world.payments.read(operation.operation_id)
    if reading.status != "committed":
        return pay(world)
    if not operation.checkpointed:
        with atomic(world.journal.db):
            world.journal.checkpoint(operation.operation_id, reading.receipt, world.now_ms)
    return "already_committed"
