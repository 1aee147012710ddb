"""An allowance of one payment; the worker dies before the commit, after it, and loses its journal."""

from __future__ import annotations

from pathlib import Path

from labkit.boundaries import Boundary
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.harness.workers import another_order, payment
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec
from labkit.values import Action, BudgetPolicy, Mandate

SLUG = "k14_the_allowance"
ONE_PAYMENT = BudgetPolicy(max_effects=1, caps_minor=(("USD", 4000),))
ORDERS = tuple(Action("charge", order, 4000, "USD") for order in ("order-1001", "order-1002"))
MANDATES = tuple(Mandate(order.subject, order.amount_minor, order.currency) for order in ORDERS)
STEPS = tuple(StepSpec(order, f"{order.subject}:charge", order.subject) for order in ORDERS)

# Both customers have given their mandate: nothing but the allowance can refuse the second order.
WORLD = WorldSpec(STEPS[:1], (LedgerSpec(mandates=MANDATES, budget=ONE_PAYMENT),))
ASK_AGAIN = Handler(Path(another_order.__file__), "resume")
CRASHED = Scenario(SLUG, WORLD, Handler(Path(payment.__file__), "pay"), ASK_AGAIN)
CALM = Scenario(SLUG, WORLD, Handler(Path(another_order.__file__), "pay_and_ask"), ASK_AGAIN)

# The story's numbered boundaries, in the order in which the first run passes them.
BOUNDARIES = (
    Boundary.BEFORE_EFFECT,
    Boundary.EFFECT_INSERTED,
    Boundary.EFFECT_COMMITTED,
    Boundary.CHECKPOINTED,
)

# In the exercise the learner writes the provider's side.
LEDGER_INSIDE = True

RUNS = {
    "three_requests": (CALM, Crash(resumes=0)),
    "before_commit": (CRASHED, Crash(Boundary.EFFECT_INSERTED)),
    "after_commit": (CRASHED, Crash(Boundary.EFFECT_COMMITTED)),
    "journal_lost": (CRASHED, Crash(Boundary.CHECKPOINTED, interventions=("lose_journal",))),
}


def exercise(answer: Path) -> Scenario:
    """Two orders, a ledger without a cap, and the learner's `spend` between them.

    The worker of `order-1001` dies and its journal is lost.  When it is resumed, one for `order-1002`
    is at work as well, in a process of its own, and acts right before the first one's transaction.
    """
    return Scenario(
        SLUG,
        WorldSpec(STEPS, (LedgerSpec(mandates=MANDATES),), rival="order-1002"),
        first=Handler(answer, "resume"),
        resume=Handler(answer, "resume"),
        interventions=("lose_journal",),
    )
