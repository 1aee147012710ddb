# %% [markdown] name="question"
# # The process died. Did its budget come back?
#
# A worker may make one payment, of 4,000 cents at most. It dies somewhere and is started again, perhaps without its
# journal. At the end you can say how much it may still spend, and where that number has to come from.

# %% name="parameters" tags=["parameters"]
predictions = None

# %% name="tools"
from labkit.ui.notebook import open_kata, show

kata = open_kata("k14_the_allowance", predictions)

# %% [markdown] name="story"
# ## Where can it die?
#
# ```text
# ledger    1 left    insert     COMMIT        ? left       the provider's
# worker  ──①───────────②──────────③──────────────④──▶
# journal                                       COMMIT      the workflow's
# ```
#
# ① it is about to ask. ② the payment is inserted and not committed. ③ it is committed, and the worker has not heard.
# ④ the checkpoint stands.

# %% [markdown] name="words"
# ## Which words do we need?
#
# - **Allowance**: what the ledger permits in all: 1 payment, and 4,000 minor units of `USD`. It is fixed when the ledger
#   is made.
# - **Consumed**: the part of it that is used up.
# - **Replay**: the same request again, under its old key.

# %% name="worker"
from labkit.harness.workers import another_order

show(another_order.pay_and_ask, another_order.resume)

# %% name="calm"
calm = kata.run("three_requests")
display(calm, calm.table("payments", "invocations")[["operation_id", "status"]])

# %% [markdown] name="calm_read"
# ## What did the three requests consume?
#
# The first was paid. The second got the first one's receipt: a replay consumes nothing. The third was refused, although
# its customer had given a mandate. That was a day without a crash.

# %% [markdown] name="ask"
# ## What will a crash give back?
#
# Three worlds, the same worker. It dies at ②. It dies at ③. It dies at ④, and its journal is replaced by one that knows
# only the order. Each time `resume` above runs then: the old key, and another order under a new key. How much is left
# when the worker has just died, and what can a lost journal buy?

# %% name="predict" tags=["predict"]
kata.predict(
    left_after_death_before_commit=...,
    left_after_death_after_commit=...,
    payments_after_lost_journal=...,
    answer_to_new_key=...,  # "committed", "already_committed", "key_conflict", "budget_action_limit"
    certainty=...,  # in per cent: "<67", "67-80" or ">80"
    because=...,  # your reason, a sentence
)

# %% name="run_before_commit" tags=["run"]
before = kata.run("before_commit")
before

# %% name="run_after_commit" tags=["run"]
after = kata.run("after_commit")
after

# %% name="run_journal_lost" tags=["run"]
lost = kata.run("journal_lost")
display(lost, lost.table("payments", "invocations")[["operation_id", "status", "at_ms"]])

# %% name="observe" tags=["observe"]
kata.observe(  # what the rows above say; a wrong reading costs nothing
    left_after_death_before_commit=...,
    left_after_death_after_commit=...,
    payments_after_lost_journal=...,
    answer_to_new_key=...,  # "committed", "already_committed", "key_conflict", "budget_action_limit"
)

# %% name="check" tags=["check"]
kata.check()

# %% [markdown] name="surprise" tags=["solution"]
# ## What surprises people?
#
# Nobody gave anything back and nobody took anything away. There is no counter that could be wrong: what is left is the
# allowance less the committed rows, computed when somebody asks. An insert that was never committed is no row.

# %% [markdown] name="your_turn"
# ## Can you keep an allowance?
#
# Now the ledger has no cap: you keep it, from inside the provider. `resume` is given; write `spend`. The worker of
# `order-1001` dies and loses its journal. When it is resumed, a second process works on `order-1002`, and acts in the
# worst moment: right before your transaction begins.

# %% name="exercise" tags=["exercise"]
from labkit.kata import Operation, SubmitResult, World, atomic


def spend(world: World, operation: Operation) -> SubmitResult | None:
    """Pay within 1 payment and 4,000 USD cents in all; None where this one does not fit any more.

    payments.read(operation_id).status            "committed" or "absent"
    payments.ledger.db.execute(sql)               table effects: operation_id, amount_minor, currency
    payments.insert(operation_id, action)         status, receipt; inside atomic(payments.ledger.db)
    """
    payments = world.inside()  # the provider, as its own programmer sees it
    # solution
    spent = "SELECT count(*), coalesce(sum(amount_minor), 0) FROM effects"
    with atomic(payments.ledger.db):
        known = payments.read(operation.operation_id).status == "committed"
        count, cents = payments.ledger.db.execute(spent).fetchone()
        fits = count < 1 and cents + operation.action.amount_minor <= 4000
        return payments.insert(operation.operation_id, operation.action) if known or fits else None


def resume(world: World) -> str:
    """Given: the first run of one order, and every resume of it."""
    operation = world.operation()
    if operation.state != "EFFECT_PENDING":
        return operation.state  # noted already
    result = spend(world, operation)
    with atomic(world.journal.db):
        if result is None:
            world.journal.refuse(operation.operation_id, "budget_action_limit", world.now_ms)
        else:
            world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return "refused" if result is None else result.status


# %% name="grade" tags=["check"]
kata.check(spend)

# %% [markdown] name="saw"
# ## What did you see?
#
# In this kata you saw:
#
# - An allowance is consumed by the commit, not by the request and not by the note.
# - Computed from committed rows, it survives every process and every journal.
# - Read and insert belong in one transaction: between two of them somebody else may pay.
#
# This does not show: caps in several currencies, or many workers that start together.

# %% [markdown] name="questions"
# ## Where is this in your own system?
#
# - Which of your limits live in a counter, and who corrects it after a crash?
# - Where do you read a limit in one transaction and act on it in another?
# - Can anybody widen a budget by deleting a file?
#
# Say it aloud: "The worker restarted. How do you know what it has spent?"
#
# Next: `00_start_here.ipynb` shows where to go on; in a terminal, `lab next` does.
