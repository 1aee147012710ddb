"""The grader apart from where answers are judged: what it makes of results, in whatever order they come."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import classroom, gradebook, grounds, results
from labkit.grading.beforehand import Bare
from labkit.grading.classroom import ClassResult, Classroom
from labkit.grading.judging import Ran, Task
from labkit.harness import sweep_files
from labkit.learning import katas
from labkit.learning.katas import Kata
from labkit.observations import CrashPoint, PointResult, Sweep, TrialOutcome

KATA = katas.load(Path(__file__).parents[2] / "katas" / "k03_missing_ack")
BARE = Bare(known={"labels": ["1 BEGIN at line 3"], "groups": [[1]]})


@dataclass
class Elsewhere:
    """A place that runs nothing: an answer's text says what becomes of it, after `# `."""

    scratch: Path
    backwards: bool = False
    works: bool = True
    named_level: str = "nowhere"
    asked: list[Task] = field(default_factory=list)
    bare: dict[str, Any] | None = None

    def judge(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ran]]:
        self.asked += [Task.from_json(json.loads(json.dumps(task.as_json))) for task in tasks]
        for number, task in sorted(enumerate(tasks), reverse=self.backwards):
            if task.variant is None and self.bare is not None:
                yield number, Ran("judged", "", self.bare)
                continue
            outcome = task.source.rpartition("# ")[2].strip() if self.works else "infra_error"
            yield number, Ran(outcome, f"because {outcome}", None)


@pytest.fixture
def students(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    for name, outcome in (("ann", "malformed"), ("bob", "tampered"), ("cleo", "infra_error"), ("dan", "")):
        (folder / name).mkdir(parents=True)
        source = f"def resume(world):\n    return 'x'\n# {outcome}\n" if outcome else ""
        (folder / name / "k03.py").write_text(source, encoding="utf-8")
    return folder


def graded(students: Path, out: Path, place: Elsewhere, kata: Kata = KATA) -> ClassResult:
    with gradebook.opened(out) as book:
        book.put("secret", "one for all")
        nobody_has_to_ask = json.dumps(BARE.as_json)
        book.put(f"bare {kata.slug} {grounds.digest_of(kata)}", nobody_has_to_ask)
        return Classroom(book, place, [kata]).grade(students, lambda _learner: None)


def outcomes(result: ClassResult) -> dict[str, str]:
    return {row.learner: row.marks[KATA.slug].outcome for row in result.rows}


def test_the_order_in_which_answers_end_changes_nothing(students: Path, tmp_path: Path) -> None:
    forwards = graded(students, tmp_path / "a", Elsewhere(tmp_path / "scratch"))
    backwards = graded(students, tmp_path / "b", Elsewhere(tmp_path / "scratch", backwards=True))

    assert outcomes(forwards) == {
        "ann": "malformed", "bob": "tampered", "cleo": "infra_error", "dan": "not_attempted",
    }  # fmt: skip
    assert results.results_json(forwards) == results.results_json(backwards)
    assert results.grades_csv(forwards) == results.grades_csv(backwards)


def test_what_a_bare_starter_shows_of_crashes_goes_with_every_answer(students: Path, tmp_path: Path) -> None:
    """Also where it is judged on another machine."""
    place = Elsewhere(tmp_path / "scratch")

    graded(students, tmp_path / "out", place)

    assert [task.known for task in place.asked] == [BARE.known] * 3
    assert all(task.variant is not None for task in place.asked)


@pytest.mark.parametrize(("outcome", "is_kept"), [("judged", True), ("timed_out", False)])
def test_a_bare_starter_that_was_disturbed_decides_nothing(
    students: Path, tmp_path: Path, outcome: TrialOutcome, is_kept: bool
) -> None:
    """Where it seems not to pass, doing nothing would be worth points in this gradebook from then on."""
    control = PointResult((), "judged", (), (), {}, {}, "", "")
    point = CrashPoint(1, "statement", "1 BEGIN at line 3", 3)
    disturbed = PointResult((point,), outcome, (), (), {}, {}, "", "")
    places = ("a.py", "pay"), ("b.py", "resume")
    bare = Sweep("k03", "kill", "1", *places, {}, (point,), control, (disturbed,), ())
    place = Elsewhere(tmp_path / "scratch", bare=sweep_files.to_json(bare))

    with gradebook.opened(tmp_path / "out") as book:
        result = Classroom(book, place, [KATA]).grade(students, lambda _learner: None)
        kept = book.setting(f"bare {KATA.slug} {grounds.digest_of(KATA)}", "null")

    assert (kept != "null") is is_kept
    assert outcomes(result)["ann"] == ("malformed" if is_kept else "infra_error")


def test_what_is_no_score_is_asked_for_again_and_nothing_else_is(students: Path, tmp_path: Path) -> None:
    broken = graded(students, tmp_path / "out", Elsewhere(tmp_path / "scratch", works=False))
    assert set(outcomes(broken).values()) == {"infra_error", "not_attempted"}
    assert broken.infrastructure_failed

    mended = graded(students, tmp_path / "out", Elsewhere(tmp_path / "scratch"))
    assert outcomes(mended)["ann"] == "malformed"
    again = graded(students, tmp_path / "out", Elsewhere(tmp_path / "scratch", works=False))

    assert outcomes(again) == outcomes(mended)
    assert [row.changed for row in again.rows] == [{}] * 4  # no score is no earlier mark


@pytest.mark.parametrize("file", ["kata.toml", "scenario.py", "checks.py", "worker.py"])
def test_what_a_mark_stands_on_counts_a_katas_own_worker_too(tmp_path: Path, file: str) -> None:
    folder = tmp_path / KATA.slug
    shutil.copytree(KATA.folder, folder)
    (folder / "worker.py").write_text("def pay(world):\n    return 'paid'\n", encoding="utf-8")
    before = grounds.digest_of(katas.load(folder))

    with (folder / file).open("a", encoding="utf-8") as end:
        end.write("\n")

    assert grounds.digest_of(katas.load(folder)) != before


def test_a_kata_that_changed_is_graded_again_and_the_difference_shown(students: Path, tmp_path: Path) -> None:
    folder = tmp_path / "katas" / KATA.slug
    folder.mkdir(parents=True)
    for file in ("kata.toml", "scenario.py", "checks.py", "lesson.py"):
        (folder / file).write_bytes((KATA.folder / file).read_bytes())
    before = graded(students, tmp_path / "out", Elsewhere(tmp_path / "scratch"))
    text = (folder / "kata.toml").read_text(encoding="utf-8")
    (folder / "kata.toml").write_text(text.replace("points = 10", "points = 20"), encoding="utf-8")

    after = graded(students, tmp_path / "out", Elsewhere(tmp_path / "scratch"), katas.load(folder))

    marks = {row.learner: row.marks[KATA.slug] for row in before.rows}
    assert {row.learner: row.changed.get(KATA.slug) for row in after.rows} == {**marks, "cleo": None}
    assert marks["ann"] == replace(after.rows[0].marks[KATA.slug], possible=10)


def test_the_katas_own_runs_lie_where_the_next_grader_finds_them(
    students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go on beside the grading, and a grader that is killed removes nothing itself."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))

    result = graded(students, tmp_path / "out", Elsewhere(tmp_path / "scratch"))

    assert result.truths[KATA.slug].keys() == {field.name for field in KATA.fields}


def test_a_grader_that_is_interrupted_begins_no_other_katas_runs(
    students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()
    let_go = threading.Event()
    seen: list[str] = []

    def truth_of(kata: Kata, _scratch: Path) -> dict[str, object]:
        seen.append(kata.slug)
        begun.set()
        let_go.wait(20)
        return {}

    def interrupted(_learner: str) -> None:
        begun.wait(20)
        raise KeyboardInterrupt

    class Executor(ThreadPoolExecutor):
        """Ends what it is at only after it was told to stop."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            let_go.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(classroom, "ThreadPoolExecutor", Executor)
    monkeypatch.setattr(classroom, "truth_of", truth_of)
    others = [katas.load(path.parent) for path in sorted(KATA.folder.parent.glob("k*/kata.toml"))]

    with gradebook.opened(tmp_path / "out") as book, pytest.raises(KeyboardInterrupt):
        Classroom(book, Elsewhere(tmp_path / "scratch"), others).grade(students, interrupted)

    assert len(seen) == 1 < len(others)
