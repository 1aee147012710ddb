"""One payment whose mandate is withdrawn between the crash and the resume, before it or after it."""

from __future__ import annotations

from pathlib import Path

from labkit.boundaries import Boundary
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.harness.workers import changed_order, payment, two_orders
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec, one_charge
from labkit.values import Action, Mandate

SLUG = "k11_revoked"
WORLD = one_charge()
PAY = Handler(Path(payment.__file__), "pay")

REFERENCE = Scenario(SLUG, WORLD, PAY, Handler(Path(payment.__file__), "resume"))
CHANGED_ORDER = Scenario(SLUG, WORLD, PAY, Handler(Path(changed_order.__file__), "resume"))

# The story's numbered boundaries, in the order in which the first run passes them.
BOUNDARIES = (
    Boundary.BEFORE_EFFECT,
    Boundary.EFFECT_INSERTED,
    Boundary.EFFECT_COMMITTED,
    Boundary.CHECKPOINTED,
)

REVOKED = ("revoke_mandate",)
RUNS = {
    "uninterrupted": (REFERENCE, Crash(resumes=0)),
    "revoked_before": (REFERENCE, Crash(Boundary.BEFORE_EFFECT, interventions=REVOKED)),
    "revoked_after": (REFERENCE, Crash(Boundary.EFFECT_COMMITTED, interventions=REVOKED)),
    "changed_order": (CHANGED_ORDER, Crash(Boundary.EFFECT_COMMITTED, interventions=REVOKED)),
}

# The exercise: paid or not, permitted or not, all four at once, and no key to lean on.
ACTIONS = tuple(Action("charge", order, 4000, "USD") for order in two_orders.ORDERS)
TWO_ORDERS = WorldSpec(
    steps=tuple(
        StepSpec(action, f"{action.subject}:charge", "batch-7", name=action.subject) for action in ACTIONS
    ),
    ledgers=(LedgerSpec(mandates=tuple(Mandate(action.subject, 4000, "USD") for action in ACTIONS)),),
)


def exercise(answer: Path) -> Scenario:
    """Two orders, a crash, one of the two mandates withdrawn; the learner's `resume` finishes both."""
    return Scenario(
        SLUG,
        TWO_ORDERS,
        first=Handler(Path(two_orders.__file__), "pay"),
        resume=Handler(answer, "resume"),
        workflow_id="batch-7",
        interventions=("revoke_first_mandate",),
    )
