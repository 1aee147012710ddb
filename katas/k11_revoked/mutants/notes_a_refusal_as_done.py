"""The right order of questions, and then no look at the answer: a refusal is noted as a payment."""

from __future__ import annotations

from labkit.kata import World, atomic

CAUGHT_BY = "phantom_progress"


def resume(world: World) -> str:
    for order in ("order-1001", "order-1002"):
        operation = world.operation(order)
        if operation.state != "EFFECT_PENDING":
            continue
        receipt = None
        if not world.payments.postcondition(operation.action).holds:
            receipt = world.payments.submit(None, operation.action).receipt
        with atomic(world.journal.db):
            world.journal.checkpoint(operation.operation_id, receipt, world.now_ms)
    return "both noted"
