"""A worker with two orders and a provider that takes no key: every permitted call is a new payment."""

from __future__ import annotations

from labkit.kata import Boundary, World, atomic

ORDERS = ("order-1001", "order-1002")


def pay(world: World) -> str:
    """The first run: pay both orders, then note both."""
    answers = {}
    for order in ORDERS:
        world.reached(Boundary.BEFORE_EFFECT)
        answers[order] = world.payments.submit(None, world.operation(order).action)
    for order, answer in answers.items():
        with atomic(world.journal.db):
            world.journal.checkpoint(world.operation(order).operation_id, answer.receipt, world.now_ms)
        world.reached(Boundary.CHECKPOINTED)
    return "both noted"
