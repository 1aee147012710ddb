"""A resume that asks for something else under the key of what was ordered."""

from __future__ import annotations

from dataclasses import replace

from labkit.harness.workers import payment
from labkit.kata import World


def resume(world: World) -> str:
    """Under the old key: one cent more, then the same number in euros, then the order as it was."""
    operation = world.operation("charge")
    world.payments.submit(operation.operation_id, replace(operation.action, amount_minor=4001))
    world.payments.submit(operation.operation_id, replace(operation.action, currency="EUR"))
    return payment.pay(world)
