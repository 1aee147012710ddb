"""Tells the customer before the payment is verified: the notice quotes the order, and hopes."""

from __future__ import annotations

from labkit.kata import Action, Receipt, World, atomic, new_operation

CAUGHT_BY = "unfounded_notice"


def pay(world: World) -> Receipt | None:
    payment = world.operation("charge")
    paid = world.payments.submit(payment.operation_id, payment.action)
    if paid.receipt is None:
        with atomic(world.journal.db):
            world.journal.refuse(payment.operation_id, paid.status, world.now_ms)
        return None
    fact = world.payments.postcondition(payment.action)
    if not payment.checkpointed and fact.holds:
        with atomic(world.journal.db):
            world.journal.checkpoint(payment.operation_id, paid.receipt, world.now_ms)
            seen = {"seen": fact.statement}
            world.journal.move(payment.operation_id, "OUTCOME_VERIFIED", seen, world.now_ms)
    return paid.receipt if fact.holds else None


def notice_of(order: Action) -> Action:
    text = f"We received {order.amount_minor} {order.currency} cents for {order.subject}."
    return Action("notify", order.subject, details=(("text", text), ("to", "ann@example.org")))


def tell(world: World) -> None:
    notice = world.journal.step(world.workflow_id, "notify")
    if notice is None:
        notice = new_operation(
            f"{world.workflow_id}:notify", world.workflow_id, "notify", notice_of(world.operation("charge").action),
            ledger="messages", state="EFFECT_PENDING",
        )  # fmt: skip
        with atomic(world.journal.db):
            world.journal.intend(notice, world.now_ms)
    if not notice.checkpointed:
        told = world.messages.submit(notice.operation_id, notice.action)
        with atomic(world.journal.db):
            world.journal.checkpoint(notice.operation_id, told.receipt, world.now_ms)


def pay_and_tell(world: World) -> str:
    tell(world)
    return "told" if pay(world) else "refused"
