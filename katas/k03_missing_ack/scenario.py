"""One payment and its checkpoint; the worker is killed between the two."""

from __future__ import annotations

from pathlib import Path

from labkit.boundaries import Boundary
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.harness.workers import mutant_new_key, payment
from labkit.harness.worlds import one_charge

WORLD = one_charge()
PAY = Handler(Path(payment.__file__), "pay")

REFERENCE = Scenario("k03_missing_ack", WORLD, PAY, Handler(Path(payment.__file__), "resume"))
NEW_KEY = Scenario("k03_missing_ack", WORLD, PAY, Handler(Path(mutant_new_key.__file__), "resume"))

# The story's numbered boundaries, in the order in which the first run passes them.
BOUNDARIES = (
    Boundary.BEFORE_EFFECT,
    Boundary.EFFECT_INSERTED,
    Boundary.EFFECT_COMMITTED,
    Boundary.CHECKPOINTED,
)

RUNS = {
    "uninterrupted": (REFERENCE, Crash(resumes=0)),
    "killed": (REFERENCE, Crash(Boundary.EFFECT_COMMITTED)),
    "new_key": (NEW_KEY, Crash(Boundary.EFFECT_COMMITTED)),
}


def exercise(answer: Path) -> Scenario:
    """The same first run, resumed by the learner's `resume`."""
    return Scenario("k03_missing_ack", WORLD, PAY, Handler(answer, "resume"))
