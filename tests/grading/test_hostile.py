"""Answers that mean harm, with bubblewrap and without: no point that was not earned, and no trace left.

Each file of `hostile/` is one answer; its docstring says what it tries.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from labkit.grading import confinement, engine, gradebook, variants
from labkit.grading.cells import attempted
from labkit.grading.classroom import Classroom, Waiting
from labkit.grading.confinement import Level
from labkit.grading.judging import Judge, Ran, Task
from labkit.grading.sandbox import DEADLINE_S, SandboxedPool
from labkit.learning import katas

from .classes import solution

ROOT = Path(__file__).parents[2]
HOSTILE = sorted((Path(__file__).parent / "hostile").glob("*.py"))
KATA = katas.load(ROOT / "katas" / "k03_missing_ack")
SOON_S = 10.0  # for the kernel to end what it has killed; nobody waits longer than that takes
pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["bwrap", "rlimits"])
def classroom(
    request: pytest.FixtureRequest,
    system_program: Callable[..., str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Classroom]:
    level: Level = request.param
    if level == "bwrap":
        system_program("bwrap")
    with (
        gradebook.opened(tmp_path_factory.mktemp("grades")) as book,
        SandboxedPool(level, 2, deadline_s=2.0) as pool,
    ):
        yield Classroom(book, InThisProcess(Judge(pool, [KATA]), pool.named_level, pool.place), [KATA])


@dataclass
class InThisProcess:
    """A place whose pool the tests can look into."""

    judging: Judge
    named_level: str
    scratch: Path

    def judge(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ran]]:
        for number, task in enumerate(tasks):
            yield number, self.judging.judge(task)


def judge_of(classroom: Classroom) -> Judge:
    assert isinstance(classroom.place, InThisProcess)
    return classroom.place.judging


def exercise_points(classroom: Classroom, source: str) -> tuple[int, str]:
    found = attempted(source, KATA.exercise)
    if found.source is None:
        return 0, found.outcome
    variant = variants.variant_of("someone", KATA.slug, "secret")
    ran = judge_of(classroom).judge(Task(KATA.slug, found.source, variant))
    classroom.run_bare({KATA.slug: KATA})
    mark, _ = classroom.marked(Waiting("someone", KATA, found, False, variant, ""), ran)
    assert mark.earned == mark.exercise
    return mark.earned, mark.outcome


def survivors(pool: SandboxedPool) -> set[int]:
    """The processes of the users as whom this pool's answers ran."""
    users = {confinement.USER_IDS + warm.pid for warm in pool._warm}
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text(encoding="utf-8")
        except OSError:
            continue
        user = re.search(r"^Uid:\t(\d+)", text, re.MULTILINE)
        if user and int(user[1]) in users:
            found.add(int(status.parent.name))
    return found


def remaining(pool: SandboxedPool) -> set[int]:
    """Those of them that do not end: what was killed takes a moment, and on a busy machine a longer one."""
    ends_s = time.monotonic() + SOON_S
    while (found := survivors(pool)) and time.monotonic() < ends_s:
        time.sleep(0.01)
    return found


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 25


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda path: path.stem)
def test_it_earns_nothing_and_leaves_nothing(classroom: Classroom, answer: Path) -> None:
    earned, outcome = exercise_points(classroom, answer.read_text(encoding="utf-8"))

    assert earned == 0
    assert outcome != "infra_error"
    if os.getuid() == 0:
        assert remaining(judge_of(classroom).pool) == set()


def test_a_store_that_is_opened_deletes_no_file_of_the_machine(classroom: Classroom, tmp_path: Path) -> None:
    """SQLite would, for a journal that names one, with the rights of whoever opens the store."""
    victim, answer = tmp_path / "of-the-teacher", tmp_path / "answer.py"
    victim.write_text("precious", encoding="utf-8")
    source = Path(__file__).parent / "hostile" / "deletes_by_super_journal.py"
    answer.write_text(
        source.read_text(encoding="utf-8").replace("/tmp/of-the-teacher", str(victim)), encoding="utf-8"
    )

    result = engine.repeat(judge_of(classroom).stages[KATA.slug], answer, [5], judge_of(classroom).pool)

    assert (result.outcome, victim.exists()) == ("tampered", True)
    assert "names another file to be deleted" in result.explanation


def test_a_neighbour_is_not_disturbed_by_all_of_them(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After everything above, in the same warm processes and sandboxes; with the usual time for a right answer."""
    monkeypatch.setattr(judge_of(classroom).pool, "deadline_s", DEADLINE_S)

    assert exercise_points(classroom, solution()) == (KATA.points - KATA.points // 5, "judged")
