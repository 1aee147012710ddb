"""Asks for permission before it asks what happened: an order that was paid is reported as refused."""

from __future__ import annotations

from labkit.kata import World, atomic

CAUGHT_BY = "orphan_effect"


def resume(world: World) -> str:
    for order in ("order-1001", "order-1002"):
        operation = world.operation(order)
        if operation.state != "EFFECT_PENDING":
            continue
        refusal = world.payments.mandate_refusal(operation.action)
        receipt = None
        if refusal is None and not world.payments.postcondition(operation.action).holds:
            receipt = world.payments.submit(None, operation.action).receipt
        with atomic(world.journal.db):
            if refusal:
                world.journal.refuse(operation.operation_id, refusal, world.now_ms)
            else:
                world.journal.checkpoint(operation.operation_id, receipt, world.now_ms)
    return "both noted"
