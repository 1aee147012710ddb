"""Points are whole numbers, from the checker alone, and nobody has one for doing nothing or for doing harm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import marks
from labkit.learning import katas
from labkit.observations import PASSING, CrashPoint, PointResult, Sweep, Verdict

KATA = katas.load(Path(__file__).parents[2] / "katas" / "k03_missing_ack")


def result(number: int, name: str, kind: Any = "statement", outcome: Any = "judged") -> PointResult:
    point = CrashPoint(number, kind, f"{number} COMMIT at line {number}", number)
    verdicts = (Verdict(name, name in PASSING, f"because {name}"),) if outcome == "judged" else ()
    return PointResult((point,) if number else (), outcome, verdicts, (), {}, {}, "", "why")


def sweep(*results: PointResult, problems: tuple[str, ...] = (), control: str = "exactly_one") -> Sweep:
    points = tuple(one.schedule[0] for one in results)
    return Sweep(
        "k03",
        "kill",
        "1",
        ("a.py", "pay"),
        ("b.py", "resume"),
        {},
        points,
        result(0, control),
        results,
        problems,
    )


def earned(found: Sweep, free: frozenset[str] = frozenset()) -> int:
    mark = marks.mark_of(KATA, found, free, False)
    assert mark.earned == mark.exercise + mark.prediction
    assert type(mark.earned) is int
    return mark.earned


def test_all_of_it_for_all_points_and_a_share_for_some() -> None:
    good = [result(number, "exactly_one") for number in range(1, 5)]

    assert earned(sweep(*good)) == 8
    assert earned(sweep(*good[:3], result(4, "stuck"))) == 6
    assert earned(sweep(*good[:1], *(result(number, "stuck") for number in (2, 3, 4)))) == 2
    assert earned(sweep(*(result(number, "stuck") for number in (1, 2, 3, 4)))) == 0


def test_a_share_is_never_the_whole() -> None:
    """A line that fails is no counted crash point, and keeps the last point all the same."""
    assert earned(sweep(result(1, "exactly_one"), result(2, "stuck", kind="line"))) == 7


@pytest.mark.parametrize("harm", ["duplicate", "phantom_progress", "lost", "unauthorised", "untrue_notice"])
def test_a_share_of_a_broken_promise_is_none(harm: str) -> None:
    good = [result(number, "exactly_one") for number in range(1, 50)]

    assert earned(sweep(*good, result(50, harm))) == 0


def test_nothing_is_earned_where_doing_nothing_passes() -> None:
    nothing = sweep(result(1, "stuck"), result(2, "exactly_one"))
    free = marks.free_places(nothing)

    assert free == {"2 COMMIT at line 2"}
    assert earned(nothing, free) == 0
    assert earned(sweep(result(2, "exactly_one")), free) == 0


def test_an_unsound_sweep_and_a_run_that_fails_by_itself_earn_nothing() -> None:
    good, stuck = result(1, "exactly_one"), result(2, "stuck")

    assert earned(sweep(good, problems=("it is not deterministic",))) == 0
    assert earned(sweep(good, stuck, control="stuck")) == 0
    assert earned(sweep()) == 0


def test_what_was_not_judged_is_the_outcome_and_no_point() -> None:
    good = result(1, "exactly_one")
    mark = marks.mark_of(KATA, sweep(good, result(2, "", outcome="killed_by_limit")), frozenset(), False)

    assert (mark.outcome, mark.why, mark.exercise) == ("killed_by_limit", "why", 4)
    broken = marks.mark_of(KATA, sweep(result(2, "", outcome="infra_error")), frozenset(), False)
    assert broken.outcome == "tampered"


@pytest.mark.parametrize("outcome", ["tampered", "not_killed", "flaky"])
def test_who_dies_elsewhere_where_harm_would_show_has_no_share(outcome: Any) -> None:
    good = [result(number, "exactly_one") for number in range(1, 50)]

    assert earned(sweep(*good, result(50, "", outcome=outcome))) == 0
    assert earned(sweep(*good, replace(pair(""), outcome=outcome, verdicts=()))) == 0


def test_a_prediction_counts_for_being_made() -> None:
    assert marks.unrun(KATA, "not_attempted", "", True).earned == 2
    assert marks.mark_of(KATA, sweep(result(1, "exactly_one")), frozenset(), True).earned == 10


def test_a_mark_comes_back_from_json() -> None:
    mark = marks.mark_of(KATA, sweep(result(1, "exactly_one"), result(2, "stuck")), frozenset(), True)

    assert marks.Mark.from_json(mark.as_json) == mark
    assert mark.failed == ("COMMIT at line 2",)


def pair(name: str) -> PointResult:
    first, second = result(1, name), result(2, name)
    return replace(first, schedule=(*first.schedule, *second.schedule), command="lab trial k03 --at 1,2")


def test_a_drawn_pair_earns_nothing_and_can_show_harm() -> None:
    """Points are earned at the crash points that everybody has; a pair says whether the answer is whole."""
    whole = (result(1, "exactly_one"), result(2, "exactly_one"))

    assert [earned(sweep(*whole, pair(name))) for name in ("exactly_one", "stuck", "duplicate")] == [8, 7, 0]
    mark = marks.mark_of(KATA, sweep(*whole, pair("stuck")), frozenset(), False)
    assert (mark.points_passed, mark.points_counted) == (2, 2)
    assert mark.drawn == (("lab trial k03 --at 1,2", "stuck"),)
    assert mark.failed == ("COMMIT at line 1, then COMMIT at line 2",)
    assert marks.Mark.from_json(mark.as_json) == mark
