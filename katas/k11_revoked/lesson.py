# %% [markdown] name="question"
# # Permission was withdrawn. Did the payment un-happen?
#
# A worker may charge 4,000 cents for one order. It dies; the customer withdraws the permission; a successor starts. At
# the end you can say what it may still do, what it has to report, and which of two questions comes first.

# %% name="parameters" tags=["parameters"]
predictions = None

# %% name="tools"
from labkit.ui.notebook import open_kata, show

kata = open_kata("k11_revoked", predictions)

# %% [markdown] name="story"
# ## When does the customer withdraw?
#
# ```text
# mandate  granted        revoked here?        or here?     the customer's
# ledger              insert     COMMIT                     the provider's
# worker  ──①───────────②──────────③──────────────④──▶
# journal                                       COMMIT      the workflow's
# ```
#
# ① it is about to ask. ② the payment is inserted and not committed. ③ it is committed, and the worker has not heard.
# ④ the checkpoint stands. The worker dies at ① or at ③, and then the mandate is revoked.

# %% name="worker"
from labkit.harness.workers import changed_order, payment

show(payment.pay)

# %% [markdown] name="words"
# ## Which words do we need?
#
# - **Mandate**: the provider's standing permission, revocable: `order-1001`, 4,000, `USD`.
# - **History**: what the ledger holds already.
# - **Authority**: what is permitted now. The ledger reads the mandate inside the payment's transaction.
# - **Refusal**: the owner's "no", and the state in the journal that records it.

# %% name="calm"
calm = kata.run("uninterrupted")
display(calm, calm.table("payments", "mandates"))

# %% [markdown] name="other_resume"
# ## What if the order changes meanwhile?
#
# The reference `resume` reads the ledger under the old key and pays only what is absent there. Another successor, below,
# asks under the old key for one cent more, then for the same number in euros, then for exactly what was ordered.

# %% name="changed_order_source"
show(changed_order.resume)

# %% [markdown] name="ask"
# ## What will the rows say?
#
# Three worlds, and in each the mandate is revoked after the crash. The worker dies at ①, and the reference `resume` runs.
# It dies at ③, and the reference `resume` runs. It dies at ③, and the successor above runs. How many payments and
# checkpoints are there in the first two? What does the ledger answer to the two changed requests in the third?

# %% name="predict" tags=["predict"]
kata.predict(
    payments_revoked_before=...,
    checkpoints_revoked_before=...,
    payments_revoked_after=...,
    checkpoints_revoked_after=...,
    answer_to_changed_order=...,  # "committed", "already_committed", "mandate_revoked", "key_conflict"
    certainty=...,  # in per cent: "<67", "67-80" or ">80"
    because=...,  # your reason, a sentence
)

# %% name="run_before" tags=["run"]
before = kata.run("revoked_before")
display(before, before.table("journal", "operations")[["operation_id", "state"]])

# %% name="run_after" tags=["run"]
after = kata.run("revoked_after")
display(after, after.table("journal", "operations")[["operation_id", "state"]])

# %% name="run_changed" tags=["run"]
changed = kata.run("changed_order")
display(changed, changed.table("payments", "invocations")[["operation_id", "status", "at_ms"]])

# %% name="observe" tags=["observe"]
kata.observe(  # what the rows above say; a wrong reading costs nothing
    payments_revoked_before=...,
    checkpoints_revoked_before=...,
    payments_revoked_after=...,
    checkpoints_revoked_after=...,
    answer_to_changed_order=...,  # "committed", "already_committed", "mandate_revoked", "key_conflict"
)

# %% name="check" tags=["check"]
kata.check()

# %% [markdown] name="surprise" tags=["solution"]
# ## What surprises people?
#
# All three worlds have the same revoked mandate in the end. What differs is history, and the ledger asks for it before it
# looks at permission. So the exact order, asked for again without any mandate, still gets its old receipt.

# %% [markdown] name="your_turn"
# ## Can you ask in the right order?
#
# This time the provider takes no key: every permitted `submit(None, action)` pays anew. A worker has two orders and dies
# somewhere. Then the customer of `order-1001` withdraws; the one of `order-1002` does not. For each order: what is paid
# is noted as paid. What is not paid is paid if that is permitted, and noted as refused if not.

# %% name="exercise" tags=["exercise"]
from labkit.kata import World, atomic


def resume(world: World) -> str:
    """Finish both orders after a crash, however often this runs.

    world.payments.postcondition(action).holds     has this order exactly its payment?
    world.payments.mandate_refusal(action)         "mandate_revoked", or None where it is permitted now
    world.payments.submit(None, action)            pays if permitted: status, receipt (None if refused)
    world.journal.checkpoint(operation_id, receipt, now_ms)     paid; inside atomic(world.journal.db)
    world.journal.refuse(operation_id, reason, now_ms)          refused; likewise
    """
    for order in ("order-1001", "order-1002"):
        operation = world.operation(order)  # operation_id, action, state
        if operation.state != "EFFECT_PENDING":
            continue  # noted already
        # solution
        answer = None
        if not world.payments.postcondition(operation.action).holds:
            answer = world.payments.submit(None, operation.action)
        with atomic(world.journal.db):
            if answer is not None and answer.receipt is None:
                world.journal.refuse(operation.operation_id, answer.status, world.now_ms)
            else:
                receipt = answer.receipt if answer else None
                world.journal.checkpoint(operation.operation_id, receipt, world.now_ms)
    return "both noted"


# %% name="grade" tags=["check"]
kata.check(resume)

# %% [markdown] name="saw"
# ## What did you see?
#
# In this kata you saw:
#
# - A withdrawn permission stops the next payment and undoes none.
# - History first, then authority: else a payment that happened is reported as refused.
# - An old key with another order is a conflict, and never a new payment.
#
# This does not show: a refund, or a permission that expires by the clock.

# %% [markdown] name="questions"
# ## Where is this in your own system?
#
# - Which of your jobs check permission at their start, and again at the moment of the effect?
# - What does your support team see when a paid order was cancelled a second later?
# - Which of your keys is bound to the exact request, and which only to a customer?
#
# Say it aloud: "The permission is gone. What do you tell the customer about the payment?"
#
# Next: `00_start_here.ipynb` shows where to go on; in a terminal, `lab next` does.
