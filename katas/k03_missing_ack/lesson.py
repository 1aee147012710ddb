# %% [markdown] name="question"
# # The payment committed, then the worker died. Pay again?
#
# A worker charges a customer 4,000 cents and then notes that it is done. It dies between the two. At the end you can
# say what a successor may do, whom it must ask, and what an exit code is worth.

# %% name="parameters" tags=["parameters"]
predictions = None

# %% name="tools"
from labkit.ui.notebook import open_kata, show

kata = open_kata("k03_missing_ack", predictions)

# %% [markdown] name="story"
# ## Where can it die?
#
# Two stores, two owners, two commits, and no transaction that spans both.
#
# ```text
# ledger              insert     COMMIT                     the provider's
# worker  ──①───────────②──────────③──────────────④──▶
# journal                                       COMMIT      the workflow's
# ```
#
# ① it is about to ask. ② the payment is inserted and not committed. ③ it is committed, and the worker has not heard.
# ④ the checkpoint stands.

# %% name="worker"
from labkit.harness.workers import mutant_new_key, payment

show(payment.pay)

# %% [markdown] name="words"
# ## Which words do we need?
#
# - **Operation id**: chosen before the first run and kept: `order-1001:charge`.
# - **Effect**: the payment's row in the ledger.
# - **Checkpoint**: the journal's row that says "done". A belief.
# - **Readback**: `payments.read(id)` asks and changes nothing.

# %% name="calm"
calm = kata.run("uninterrupted")
display(calm, calm.table("payments", "effects").T)

# %% [markdown] name="other_resume"
# ## What would a successor do?
#
# Two versions of `resume` will be tried. The reference keeps the recorded operation id and asks the ledger first. The
# other one, below, looks into the journal, finds no checkpoint, concludes that the payment failed, and tries once more
# under a fresh key.

# %% name="new_key_source"
show(mutant_new_key.resume)

# %% [markdown] name="ask"
# ## What will the rows say?
#
# The worker gets SIGKILL at ③. You look at both stores. Then the reference `resume` runs in a new process, and you look
# again. In a second world the same happens with the other `resume`. How many payments, how many checkpoints, and which
# exit code does that last process have?

# %% name="predict" tags=["predict"]
kata.predict(
    payments_at_the_kill=...,
    checkpoints_at_the_kill=...,
    payments_after_resume=...,
    payments_with_new_key=...,
    exit_code_with_new_key=...,
    certainty=...,  # in per cent: "<67", "67-80" or ">80"
    because=...,  # your reason, a sentence
)

# %% name="kill" tags=["run"]
killed = kata.run("killed")
killed

# %% name="kill_new_key" tags=["run"]
new_key = kata.run("new_key")
new_key

# %% name="observe" tags=["observe"]
kata.observe(  # what the rows above say; a wrong reading costs nothing
    payments_at_the_kill=...,
    checkpoints_at_the_kill=...,
    payments_after_resume=...,
    payments_with_new_key=...,
    exit_code_with_new_key=...,
)

# %% name="check" tags=["check"]
kata.check()

# %% [markdown] name="surprise" tags=["solution"]
# ## What surprises people?
#
# The wrong `resume` exits with 0, its journal is complete, and its log reads well. Only the ledger shows the second
# payment. The right one is no cleverer: it kept one name for the payment, and asked the owner before acting.

# %% [markdown] name="your_turn"
# ## Can you write it?
#
# Finish `order-1001` after a crash at any of the four places. Keep the recorded operation id. Ask the ledger first. If
# the payment is there, write the checkpoint from its receipt; if it is absent, pay under the same id, then write it.

# %% name="exercise" tags=["exercise"]
from labkit.kata import World, atomic


def resume(world: World) -> str:
    """Finish the payment after a crash, however often this runs; return what you found or did.

    world.operation()                                         operation_id, action, checkpointed
    world.payments.read(operation_id)                         status ("committed" or "absent"), receipt
    world.payments.submit(operation_id, action)               status, receipt
    world.journal.checkpoint(operation_id, receipt, now_ms)   inside atomic(world.journal.db)
    """
    # solution
    operation = world.operation()
    if operation.checkpointed:
        return "complete"
    found = world.payments.read(operation.operation_id)
    if found.status == "absent":
        found = world.payments.submit(operation.operation_id, operation.action)
    with atomic(world.journal.db):
        world.journal.checkpoint(operation.operation_id, found.receipt, world.now_ms)
    return found.status


# %% name="grade" tags=["check"]
kata.check(resume)

# %% [markdown] name="slide"
# ## Where exactly does it turn?
#
# Between two neighbouring crash points lies the instant in which this payment becomes a fact. Let go of the slider
# anywhere: a real process is killed there, your `resume` runs, and you see both stores before it and after it. Which two
# points are the neighbours? And what in the journal tells them apart?

# %% name="scrub"
kata.scrub()

# %% [markdown] name="saw"
# ## What did you see?
#
# In this kata you saw:
#
# - A commit outlives the process that asked for it.
# - A missing checkpoint says that nothing was noted, not that nothing happened.
# - One operation id, kept across the crash, makes asking again harmless.
#
# This does not show: a provider that cannot be asked, or that forgets its keys.

# %% [markdown] name="questions"
# ## Where is this in your own system?
#
# - Which of your jobs treat "no record" as "did not happen"?
# - Where is the key of a retry made, and does it survive the process?
# - Who else than the ledger's owner could you ask?
#
# Say it aloud: "How would you make this payment safe to retry?"
#
# Next: `00_start_here.ipynb` shows where to go on; in a terminal, `lab next` does.
