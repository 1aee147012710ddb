"""From a sweep to points: whole numbers, from the checker alone.

A fifth of a kata's points is for a prediction that was made, right or wrong.  The rest is for the
exercise: all of it where every crash point passes, else the share of the crash points that pass and at
which doing nothing would not have passed as well.  An answer that does harm at any crash point (pays
twice, claims what is not so) has nothing for the exercise: a share of a broken promise is none.
A learner's own pairs of crashes are no crash points to earn anything at; they can show harm, or that
an answer is not whole.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, get_args

from labkit.learning.katas import Kata
from labkit.observations import PASSING, PointResult, Sweep, TrialOutcome

HARMLESS = PASSING | {"stuck"} | set(get_args(TrialOutcome))  # an answer that is merely not over may go on
COUNTED = frozenset({"boundary", "statement"})  # lines are too many, and a learner's own in some katas


@dataclass(frozen=True, slots=True)
class Mark:
    """What one learner has in one kata.

    `outcome` is `judged`, or why nothing or not everything was.  `points_passed` of `points_counted`
    crash points were passed.  `failed` names the crash points that failed, `verdicts` counts all.
    `drawn` has each of the learner's own pairs of crashes, as the command that repeats it, with its end.
    """

    outcome: str
    why: str
    earned: int
    possible: int
    exercise: int = 0
    prediction: int = 0
    points_passed: int = 0
    points_counted: int = 0
    verdicts: tuple[tuple[str, int], ...] = ()
    failed: tuple[str, ...] = ()
    drawn: tuple[tuple[str, str], ...] = ()
    sandbox: str = ""

    @property
    def as_json(self) -> dict[str, Any]:
        """For the gradebook and results.json."""
        return asdict(self) | {
            "verdicts": dict(self.verdicts), "failed": list(self.failed), "drawn": dict(self.drawn),
        }  # fmt: skip

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Mark:
        """From the gradebook."""
        pairs = {name: tuple(found.get(name, {}).items()) for name in ("verdicts", "drawn")}
        return cls(**{**found, **pairs, "failed": tuple(found["failed"])})


def points_for_prediction(kata: Kata) -> int:
    """What a prediction that was made is worth."""
    return kata.points // 5


def place_of(result: PointResult) -> str:
    """Where a schedule crashed, without its numbers: the same place in two answers has the same name."""
    return ", then ".join(point.label.removeprefix(f"{point.number} ") for point in result.schedule)


def free_places(nothing: Sweep) -> frozenset[str]:
    """The labels at which an answer that does nothing passes: nobody earns anything there."""
    return frozenset(result.schedule[0].label for result in nothing.results if result.passed)


def unrun(kata: Kata, outcome: str, why: str, has_prediction: bool) -> Mark:
    """The mark of an answer that was not run."""
    prediction = points_for_prediction(kata) if has_prediction else 0
    return Mark(outcome, why, prediction, kata.points, prediction=prediction)


def mark_of(kata: Kata, sweep: Sweep, free: frozenset[str], has_prediction: bool) -> Mark:
    """The mark of a sweep."""
    counted = [
        result for result in sweep.results
        if len(result.schedule) == 1
        and result.schedule[0].kind in COUNTED
        and result.schedule[0].label not in free
    ]  # fmt: skip
    passed = sum(result.passed for result in counted)
    prediction = points_for_prediction(kata) if has_prediction else 0
    exercise = _exercise(kata.points - points_for_prediction(kata), sweep, passed, len(counted))
    outcome, why = _outcome(sweep)
    return Mark(
        outcome=outcome,
        why=why,
        earned=prediction + exercise,
        possible=kata.points,
        exercise=exercise,
        prediction=prediction,
        points_passed=passed,
        points_counted=len(counted),
        verdicts=tuple(sorted(Counter(name for one in sweep.all_results for name in one.names).items())),
        failed=tuple(dict.fromkeys(place_of(result) for result in sweep.results if not result.passed)),
        drawn=tuple((one.command, ", ".join(one.names)) for one in sweep.results if len(one.schedule) == 2),
    )


def _exercise(worth: int, sweep: Sweep, passed: int, counted: int) -> int:
    if sweep.passed:
        return worth if passed else 0
    harmful = any(name not in HARMLESS for name in sweep.verdicts)
    if (
        harmful
        or any(_hides(result) for result in sweep.results)
        or sweep.problems
        or not sweep.control.passed
        or not counted
    ):
        return 0
    return min(worth * passed // counted, worth - 1)


def _hides(result: PointResult) -> bool:
    """Whether a run dies elsewhere, or not at all, where it would be judged: what it would do there may be harm."""
    return result.outcome == "tampered" or (result.outcome in ("not_killed", "flaky") and not result.verdicts)


def _outcome(sweep: Sweep) -> tuple[str, str]:
    """`judged`, or the gravest thing that kept schedules from being judged, with what is known of it."""
    unjudged = [one for one in sweep.all_results if one.outcome != "judged"]
    for outcome in ("killed_by_limit", "tampered", "timed_out", "not_killed", "flaky", "infra_error"):
        for one in unjudged:
            if one.outcome == outcome:
                return ("tampered" if outcome == "infra_error" else outcome), one.explanation
    if sweep.problems:
        return "judged", sweep.problems[0]
    first = next((one for one in sweep.all_results if not one.passed), None)
    if first is None:
        return "judged", ""
    because = [verdict.because for verdict in first.verdicts if verdict.name not in PASSING]
    return "judged", (because or [first.explanation])[0]
