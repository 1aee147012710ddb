"""Two effects with two owners: the payment, and once it is verified the notice that tells the customer.

Each has an operation id, a record in the journal and a checkpoint of its own.  The same function runs
first and after every crash.
"""

from __future__ import annotations

from labkit.kata import Action, Boundary, Receipt, World, atomic, new_operation


def pay(world: World) -> Receipt | None:
    """The payment flow: ask under the recorded id, read the fact back, record both in one commit.

    Returns the payment's receipt once it is verified, None where it was refused.
    """
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
        world.reached(Boundary.CHECKPOINTED)
    return paid.receipt if fact.holds else None


def notice_of(receipt: Receipt) -> Action:
    """What the customer is told: what the payment's receipt says, and nothing that was only hoped for."""
    text = f"We received {receipt.amount_minor} {receipt.currency} cents for {receipt.subject}."
    return Action("notify", receipt.subject, details=(("text", text), ("to", "ann@example.org")))


def pay_and_tell(world: World) -> str:
    """Pay; then record what will be said, say it under that record's own id, and record that it was said."""
    receipt = pay(world)
    if receipt is None:
        return "refused"
    notice = world.journal.step(world.workflow_id, "notify")
    if notice is None:
        notice = new_operation(
            f"{world.workflow_id}:notify", world.workflow_id, "notify", notice_of(receipt),
            ledger="messages", state="EFFECT_PENDING",
        )  # fmt: skip
        with atomic(world.journal.db):
            world.journal.intend(notice, world.now_ms)
    if not notice.checkpointed:
        told = world.messages.submit(notice.operation_id, notice.action)
        with atomic(world.journal.db):
            world.journal.checkpoint(notice.operation_id, told.receipt, world.now_ms)
        world.reached(Boundary.CHECKPOINTED)
    return "told"
