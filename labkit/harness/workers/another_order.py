"""A worker that asks again, and then asks for more than the allowance holds."""

from __future__ import annotations

from dataclasses import replace

from labkit.harness.workers import payment
from labkit.kata import World, atomic


def pay_and_ask(world: World) -> str:
    """Three requests in one run: the order, the same order again, and another one."""
    payment.pay(world)
    return resume(world)


def resume(world: World) -> str:
    """The order under its own key, noted if that was not done; then another order under a new key."""
    operation = world.operation("charge")
    answer = world.payments.submit(operation.operation_id, operation.action)
    if not operation.checkpointed:
        with atomic(world.journal.db):
            world.journal.checkpoint(operation.operation_id, answer.receipt, world.now_ms)
    another = replace(operation.action, subject="order-1002")
    return world.payments.submit("order-1002:charge", another).status
