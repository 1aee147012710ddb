"""Permission is all that it asks for: what is permitted is paid, also what has been paid already."""

from __future__ import annotations

from labkit.kata import World, atomic

CAUGHT_BY = "duplicate"


def resume(world: World) -> str:
    for order in ("order-1001", "order-1002"):
        operation = world.operation(order)
        if operation.state != "EFFECT_PENDING":
            continue
        answer = world.payments.submit(None, operation.action)
        with atomic(world.journal.db):
            if answer.receipt is None:
                world.journal.refuse(operation.operation_id, answer.status, world.now_ms)
            else:
                world.journal.checkpoint(operation.operation_id, answer.receipt, world.now_ms)
    return "both noted"
