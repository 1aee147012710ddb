"""A payment, then the notice that tells the customer; the worker is killed between any two commits."""

from __future__ import annotations

from pathlib import Path

from labkit.boundaries import Boundary
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.harness.workers import mutant_one_flag, pay_and_tell
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec, one_charge
from labkit.values import Action

MESSAGES = LedgerSpec(name="messages", file="messages.sqlite3", mandate_required=False)
# No intent is recorded for the notice: what it will say is known only once the payment is verified.
NOTICE = StepSpec(
    Action("notify", "order-1001"), "order-1001:notify", name="notify", ledger="messages", state=None
)
CHARGE = one_charge()
WORLD = WorldSpec(
    steps=(*CHARGE.steps, NOTICE), ledgers=(*CHARGE.ledgers, MESSAGES), code_path="pay_and_tell/1"
)

# The story's numbered boundaries, in the order in which the first run passes them: the payment's two, the notice's two.
BOUNDARIES = (
    Boundary.EFFECT_COMMITTED,
    Boundary.CHECKPOINTED,
    Boundary.EFFECT_COMMITTED,
    Boundary.CHECKPOINTED,
)


def both_runs(file: str | Path) -> Scenario:
    """One function of one file, run first and again after every crash."""
    handler = Handler(Path(file), "pay_and_tell")
    return Scenario("k17_tell_the_customer", WORLD, handler, handler)


REFERENCE = both_runs(pay_and_tell.__file__)
ONE_FLAG = both_runs(mutant_one_flag.__file__)

RUNS = {
    "uninterrupted": (REFERENCE, Crash(resumes=0)),
    "killed": (REFERENCE, Crash(Boundary.EFFECT_COMMITTED, occurrence=2)),
    "one_flag": (ONE_FLAG, Crash(Boundary.CHECKPOINTED)),
}


def exercise(answer: Path) -> Scenario:
    """The learner's `pay_and_tell`, first and after every crash."""
    return both_runs(answer)
