"""Sends the notice under the payment's operation id: one name and one record for two effects."""

from __future__ import annotations

from labkit.kata import Action, Receipt, World, atomic

CAUGHT_BY = "orphan_effect"


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


def notice_of(receipt: Receipt) -> Action:
    text = f"We received {receipt.amount_minor} {receipt.currency} cents for {receipt.subject}."
    return Action("notify", receipt.subject, details=(("text", text), ("to", "ann@example.org")))


def pay_and_tell(world: World) -> str:
    receipt = pay(world)
    if receipt is None:
        return "refused"
    payment = world.operation("charge")
    if world.messages.read(payment.operation_id).status == "absent":
        told = world.messages.submit(payment.operation_id, notice_of(receipt))
        with atomic(world.journal.db):
            world.journal.checkpoint(payment.operation_id, told.receipt, world.now_ms)
    return "told"
