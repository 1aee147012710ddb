# %% [markdown] name="question"
# # Paid is not told. What if it dies between the two?
#
# A worker charges a customer, verifies the payment, and then sends a notice that says so. It can die after any of these.
# At the end you can add a second effect to a flow that had one, so that neither is lost and neither happens twice.

# %% name="parameters" tags=["parameters"]
predictions = None

# %% name="tools"
from labkit.ui.notebook import open_kata, show

kata = open_kata("k17_tell_the_customer", predictions)

# %% [markdown] name="story"
# ## How many owners are there?
#
# Three: the payment provider, the messaging provider, and the workflow with its journal.
#
# ```text
# payments       COMMIT
# messages                          COMMIT
# worker   ────────①────────②─────────③────────④──▶
# journal                COMMIT              COMMIT
# ```
#
# ① the payment is committed. ② it is verified and checkpointed. ③ the notice is committed, and the worker has not heard.
# ④ the notice has its own checkpoint.

# %% name="payment_flow"
from labkit.harness.workers import mutant_one_flag, pay_and_tell

show(pay_and_tell.pay, pay_and_tell.notice_of)

# %% [markdown] name="words"
# ## Which words do we need?
#
# - **Notice**: an effect like the payment, of kind `notify`, in the ledger of the provider that sends it.
# - **OUTCOME_VERIFIED**: the payment's last state; its business fact was read back.
# - **Acknowledgement**: the worker hears of a commit that is already durable.
# - **Step**: one effect of a workflow in the journal: `charge`, `notify`.

# %% name="calm"
calm = kata.run("uninterrupted")
display(calm, calm.table("journal", "operations")[["step", "operation_id", "ledger", "state"]])

# %% [markdown] name="other_worker"
# ## What did a colleague write?
#
# The right worker, which you will write yourself, keeps a second record for the notice. A colleague found that
# superfluous: the payment's checkpoint already says that the order is done. So here is the one-flag worker.

# %% name="one_flag_source"
show(mutant_one_flag.pay_and_tell)

# %% [markdown] name="ask"
# ## What will the rows say?
#
# The right worker gets SIGKILL at ③, after the notice's commit and before its acknowledgement. You look at all three
# stores. Then the same function runs again in a new process. In a second world the one-flag worker gets SIGKILL at ② and
# runs again.

# %% name="predict" tags=["predict"]
kata.predict(
    payment_state_at_the_kill=...,  # "EFFECT_PENDING", "EFFECT_COMMITTED" or "OUTCOME_VERIFIED"
    notices_at_the_kill=...,
    payments_after_resume=...,
    notices_after_resume=...,
    notices_with_one_flag=...,
    certainty=...,  # in per cent: "<67", "67-80" or ">80"
    because=...,  # your reason, a sentence
)

# %% name="kill" tags=["run"]
killed = kata.run("killed")
display(killed, killed.table("journal", "operations", "kill")[["operation_id", "state"]])

# %% name="kill_one_flag" tags=["run"]
one_flag = kata.run("one_flag")
one_flag

# %% name="observe" tags=["observe"]
kata.observe(  # what the rows above say; a wrong reading costs nothing
    payment_state_at_the_kill=...,  # "EFFECT_PENDING", "EFFECT_COMMITTED" or "OUTCOME_VERIFIED"
    notices_at_the_kill=...,
    payments_after_resume=...,
    notices_after_resume=...,
    notices_with_one_flag=...,
)

# %% name="check" tags=["check"]
kata.check()

# %% [markdown] name="surprise" tags=["solution"]
# ## What surprises people?
#
# At ③ the payment is OUTCOME_VERIFIED and the notice is open: two true sentences about two things. The one-flag worker
# lost the notice without any error. The payment is right, the exit code is 0, and the journal holds nothing that anybody
# could find open.

# %% [markdown] name="your_turn"
# ## Can you add the notice?
#
# Below stands the payment flow. Extend it: once the payment is verified, record what will be said, under an id of its own.
# Send it under that id. Then record that it was sent. The function is killed at every crash point and runs again until it
# is done.

# %% name="exercise" tags=["exercise"]
from labkit.kata import Action, Receipt, World, atomic, new_operation


def pay(world: World) -> Receipt | None:
    """The payment flow as you know it: the receipt once it is verified, None where it was refused."""
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
    """What the customer is told: what the payment's receipt says."""
    text = f"We received {receipt.amount_minor} {receipt.currency} cents for {receipt.subject}."
    return Action("notify", receipt.subject, details=(("text", text), ("to", "ann@example.org")))


def pay_and_tell(world: World) -> str:
    """Pay, and tell the customer once.  Runs first, and again after every crash.

    world.journal.step(world.workflow_id, "notify")                   the recorded notice, or None
    new_operation(operation_id, world.workflow_id, "notify", action, ledger="messages", state="EFFECT_PENDING")
    world.journal.intend(operation, world.now_ms)                     inside atomic(world.journal.db)
    world.messages.submit(operation_id, action)                       status, receipt
    world.journal.checkpoint(operation_id, receipt, world.now_ms)     inside atomic(world.journal.db)
    """
    receipt = pay(world)
    if receipt is None:
        return "refused"
    # solution
    notice = world.journal.step(world.workflow_id, "notify")
    if notice is None:
        own_id = f"{world.workflow_id}:notify"
        said = notice_of(receipt)
        notice = new_operation(
            own_id, world.workflow_id, "notify", said, ledger="messages", state="EFFECT_PENDING"
        )
        with atomic(world.journal.db):
            world.journal.intend(notice, world.now_ms)
    if not notice.checkpointed:
        told = world.messages.submit(notice.operation_id, notice.action)
        with atomic(world.journal.db):
            world.journal.checkpoint(notice.operation_id, told.receipt, world.now_ms)
    return "told"


# %% name="grade" tags=["check"]
kata.check(pay_and_tell)

# %% [markdown] name="slide"
# ## When is she charged and not told?
#
# Four commits, and a kill can fall between any two. Let go of the slider anywhere: a real process is killed there, and
# your function runs again. Find the first point after which the customer has paid and nobody has told her. Find the
# last. What tells the next run that something is open?

# %% name="scrub"
kata.scrub()

# %% [markdown] name="saw"
# ## What did you see?
#
# In this kata you saw:
#
# - Each effect needs its own id, its own record and its own checkpoint.
# - A verified payment says nothing about the notice.
# - The notice quotes the receipt: it tells what happened, and not what was planned.
#
# This does not show: that anybody read the notice. Its provider took it, and that is all that its ledger says.

# %% [markdown] name="questions"
# ## Where is this in your own system?
#
# - Which of your flags answers two questions?
# - Which of your messages are sent before what they tell is certain?
# - What would find a notice that was never recorded?
#
# Say it aloud: "The payment is done. How do you know that the customer was told?"
#
# Next: `00_start_here.ipynb` shows where to go on; in a terminal, `lab next` does.
