"""One flag for both: the payment's checkpoint is read as the answer to "was the customer told?"."""

from __future__ import annotations

from labkit.kata import Action, Receipt, World, atomic, new_operation

CAUGHT_BY = "lost"


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
    if world.operation("charge").checkpointed:
        return "told"
    receipt = pay(world)
    if receipt is None:
        return "refused"
    own_id = f"{world.workflow_id}:notify"
    told = world.messages.submit(own_id, notice_of(receipt))
    notice = new_operation(
        own_id, world.workflow_id, "notify", notice_of(receipt), ledger="messages", state="EFFECT_PENDING"
    )
    with atomic(world.journal.db):
        world.journal.intend(notice, world.now_ms)
        world.journal.checkpoint(notice.operation_id, told.receipt, world.now_ms)
    return "told"
