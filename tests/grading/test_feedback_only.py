"""How sure a learner was is feedback: no point depends on it, and grading does not even know the score."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import foretold, gradebook
from labkit.grading.classroom import Classroom
from labkit.grading.judging import Ran, Task
from labkit.learning import katas, predict
from labkit.learning.katas import Kata

ROOT = Path(__file__).parents[2]
SCORE = "labkit.learning.calibration"
WRONG = {"payments_at_the_kill": 7, "checkpoints_at_the_kill": 7, "payments_after_resume": 7}


def imported(path: Path) -> set[str]:
    """Every module of labkit that a file names in an import, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.startswith("labkit")}


def reached(starts: Iterable[Path]) -> set[str]:
    """Every module of labkit that can be imported from these files on, at any remove."""
    files = list(starts)
    names: set[str] = set()
    while files:
        for name in imported(files.pop()) - names:
            names.add(name)
            files += [path for path in [ROOT.joinpath(*name.split(".")).with_suffix(".py")] if path.is_file()]
    return names


def test_grading_does_not_know_the_score() -> None:
    from_grading = reached((ROOT / "labkit" / "grading").glob("*.py"))

    assert "labkit.learning.predict" in from_grading  # the walk gets somewhere
    assert SCORE not in from_grading
    assert SCORE in reached([ROOT / "labkit" / "ui" / "commands_grade.py"])  # where the class's page is drawn


@pytest.fixture
def kata() -> Kata:
    return katas.load(ROOT / "katas" / "k03_missing_ack")


def journal_of(folder: Path, kata: Kata, *given: dict[str, Any]) -> bytes:
    """The prediction journal of one who predicts so, one after the other."""
    folder.mkdir()
    with predict.journal(folder) as journal:
        for number, one in enumerate(given, 1):
            journal.seal(kata, predict.whole(kata, {**kata.author, **one}), number)
    return (folder / predict.FILE).read_bytes()


class Nowhere:
    """A place where nothing is judged: nobody handed an answer in."""

    named_level = "none"

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def judge(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ran]]:
        assert list(tasks) == []
        return iter(())


def test_points_do_not_depend_on_how_sure_or_how_right_one_was(kata: Kata, tmp_path: Path) -> None:
    """Right and sure, wrong and sure, wrong and unsure: the same mark; nothing predicted: a lower one."""
    folder = tmp_path / "class"
    (folder / "silent").mkdir(parents=True)
    journal_of(folder / "right", kata, {"certainty": ">80", "payments_with_new_key": 2})
    journal_of(folder / "wrong", kata, {"certainty": ">80", **WRONG})
    journal_of(folder / "unsure", kata, {"certainty": "<67", **WRONG})

    with gradebook.opened(tmp_path / "book") as book:
        result = Classroom(book, Nowhere(tmp_path / "scratch"), [kata]).grade(folder, lambda _learner: None)

    rows = {row.learner: row for row in result.rows}
    marks = {name: row.marks[kata.slug] for name, row in rows.items()}
    assert {name for name, row in rows.items() if row.predictions} == {"right", "wrong", "unsure"}
    assert marks["right"] == marks["wrong"] == marks["unsure"]
    assert (marks["right"].earned, marks["silent"].earned) == (2, 0)


def test_what_was_said_before_the_rows_were_seen_is_what_the_class_is_counted_by(
    kata: Kata, tmp_path: Path
) -> None:
    journal = journal_of(tmp_path / "a", kata, WRONG, {"payments_with_new_key": 2})

    found, note = foretold.read(journal, [kata])

    assert note == ""
    assert found[kata.slug].answers["payments_at_the_kill"] == 7
