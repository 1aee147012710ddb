"""What is known of a worker's crashes spares it kills, and never changes what a sweep says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import engine
from labkit.grading.stage import Stage, load_stage
from labkit.grading.variants import Variant, staged
from labkit.harness.known import known_from
from labkit.harness.pool import Pool
from labkit.learning import katas
from labkit.observations import Sweep

from .counting import Counting

ROOT = Path(__file__).parents[2]
WORKERS = ROOT / "labkit" / "harness" / "workers"
OTHER_WORLD = Variant(7, 3, 4711, draws=((21, 5), (34, 2)))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as warm:
        yield warm


@pytest.fixture(scope="module")
def stage() -> Stage:
    return load_stage(katas.find("k03"))


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A right answer, which is another file than the kata's own worker."""
    answer = tmp_path_factory.mktemp("answer") / "right.py"
    answer.write_bytes((WORKERS / "payment.py").read_bytes())
    return answer


@pytest.fixture(scope="module")
def shown(stage: Stage, pool: Pool, right: Path) -> Sweep:
    """A sweep in the kata's own world."""
    return engine.grade(stage, right, pool=pool)


@pytest.fixture(scope="module")
def known(shown: Sweep) -> dict[str, Any]:
    return known_from(shown)


def in_another_world(stage: Stage, answer: Path, pool: Pool, known: dict[str, Any]) -> Sweep:
    return engine.grade(replace(staged(stage, OTHER_WORLD), known=known), answer, pool=pool)


@pytest.mark.parametrize("is_right", [True, False], ids=["right", "a new key"])
def test_killed_at_the_ends_of_each_group_only_a_sweep_says_what_it_says_killed_everywhere(
    stage: Stage, pool: Pool, known: dict[str, Any], right: Path, is_right: bool
) -> None:
    answer = right if is_right else WORKERS / "mutant_new_key.py"
    everywhere = in_another_world(stage, answer, pool, {})

    spared = in_another_world(stage, answer, pool, known)

    assert spared == everywhere
    assert all(result.is_killed for result in everywhere.results)
    ends = {number for group in known["groups"] for number in (group[0], group[-1])}
    once = [result for result in spared.results if len(result.schedule) == 1]
    assert {result.schedule[0].number for result in once if result.is_killed} == ends
    assert len(ends) < len(once) / 2
    assert [one.same_bytes_as for one in once] == [
        one.same_bytes_as for one in everywhere.results if len(one.schedule) == 1
    ]


def test_ends_that_leave_other_bytes_show_that_nothing_is_known(
    stage: Stage, pool: Pool, known: dict[str, Any], right: Path
) -> None:
    """As if all crashes left the same, which the first and the last do not."""
    all_alike = known | {"groups": [[number for group in known["groups"] for number in group]]}

    swept = in_another_world(stage, right, pool, all_alike)

    assert swept == in_another_world(stage, right, pool, {})
    assert all(result.is_killed for result in swept.results)


def test_a_worker_that_goes_another_way_is_killed_everywhere(
    stage: Stage, pool: Pool, known: dict[str, Any], right: Path
) -> None:
    elsewhere = known | {"labels": [*known["labels"][:-1], "36 returned late"]}

    swept = in_another_world(stage, right, pool, elsewhere)

    assert all(result.is_killed for result in swept.results)


def test_nothing_is_known_from_a_sweep_that_could_not_judge_a_crash_or_spared_one(
    stage: Stage, pool: Pool, shown: Sweep, known: dict[str, Any], right: Path
) -> None:
    first, *others = shown.results

    assert known
    assert known_from(replace(shown, results=(replace(first, outcome="flaky"), *others))) == {}
    assert known_from(in_another_world(stage, right, pool, known)) == {}


def test_of_an_answer_that_runs_first_itself_nothing_is_known(pool: Pool, tmp_path: Path) -> None:
    """Its crash points have the labels of the answer that the knowledge is from; its bytes may be others."""
    kata = katas.find("k17")
    stage = load_stage(kata)
    answer = tmp_path / "answers" / f"{kata.slug}.py"
    job = engine.job_of(stage, stage.exercise(answer), tmp_path)

    assert engine.for_once(job, replace(stage, known={"labels": [], "groups": []}), answer).known == {}


def test_a_way_that_is_known_is_gone_once_without_a_fault_and_any_other_one_twice(
    stage: Stage, known: dict[str, Any], right: Path
) -> None:
    elsewhere = known | {"labels": [*known["labels"][:-1], "36 returned late"]}
    asked = []
    for given in (known, elsewhere, {}):
        with Counting(1) as pool:
            in_another_world(stage, right, pool, given)
        asked.append(pool.asked["control"])

    assert asked == [1, 3, 2]  # that it goes another way is seen in a run
