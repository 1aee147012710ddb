"""The edition for nbgrader: valid metadata, no solution, and what nbgrader itself makes of it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from labkit.learning.katas import Kata
from labkit.ui import nbgrader_edition
from labkit.ui.cli import main

from .conftest import MODEL

ROOT = Path(__file__).parents[2]
NBGRADER = os.environ.get("LAB_NBGRADER")  # a folder with programs of an environment that has nbgrader
KEYS = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}


def test_the_exercise_is_a_solution_and_its_check_a_locked_test(kata: Kata) -> None:
    cells = [cell for cell in nbgrader_edition.notebook(kata).cells if "nbgrader" in cell.metadata]

    exercise, check = (cell.metadata["nbgrader"] for cell in cells)
    assert (exercise.keys(), check.keys()) == (KEYS, KEYS | {"points"})
    assert (exercise["solution"], exercise["grade"], exercise["locked"]) == (True, False, False)
    assert (check["solution"], check["grade"], check["locked"], check["points"]) == (False, True, True, 8)
    assert {exercise["grade_id"], check["grade_id"]} == {cell.id for cell in cells}
    assert "raise NotImplementedError" in cells[0].source
    assert "assert checked.passed" in cells[1].source


def test_it_is_written_where_nbgrader_looks_and_never_over_another(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "course" / "source" / MODEL / f"{MODEL}.ipynb"

    assert main(["author", "build", MODEL, "--nbgrader", str(tmp_path / "course")]) == 0
    first = place.read_bytes()
    assert main(["author", "build", MODEL, "--nbgrader", str(tmp_path / "course")]) == 0
    assert place.read_bytes() == first
    place.write_text("{}", encoding="utf-8")
    assert main(["author", "build", MODEL, "--nbgrader", str(tmp_path / "course")]) == 2
    assert "is another notebook" in capsys.readouterr().err
    assert place.read_text(encoding="utf-8") == "{}"


def nbgrader(course: Path, *words: str) -> None:
    """One command of nbgrader's in a course."""
    done = subprocess.run(
        [f"{NBGRADER}/nbgrader", *words, f"--course-dir={course}"],
        capture_output=True, text=True, timeout=300, check=False,
        env={"PATH": f"{NBGRADER}:/usr/bin:/bin", "HOME": str(course.parent), "LAB_ROOT": str(ROOT),
             "LAB_WORKSPACE": str(course.parent / "hers")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    NBGRADER is None, reason="LAB_NBGRADER names no environment with nbgrader: not tried against it"
)
@pytest.mark.timeout(600)
def test_nbgrader_generates_and_grades_it(project: Path, solution: str, tmp_path: Path) -> None:
    """Its kernel needs labkit to give points; where that environment has none, releasing is all there is to try."""
    course = tmp_path / "course"
    assert main(["author", "build", MODEL, "--nbgrader", str(course)]) == 0

    nbgrader(course, "generate_assignment", MODEL, "--create")

    released = json.loads((course / "release" / MODEL / f"{MODEL}.ipynb").read_text(encoding="utf-8"))
    assert sum("nbgrader" in cell["metadata"] for cell in released["cells"]) == 2
    has_labkit = subprocess.run([f"{NBGRADER}/python", "-I", "-c", "import labkit.ui.notebook"], check=False)
    if has_labkit.returncode:
        return
    [exercise] = [cell for cell in released["cells"] if "exercise" in cell["metadata"].get("tags", [])]
    for learner, answer in (("right", solution), ("starter", exercise["source"])):
        exercise["source"] = answer
        handed_in = course / "submitted" / learner / MODEL / f"{MODEL}.ipynb"
        handed_in.parent.mkdir(parents=True)
        handed_in.write_text(json.dumps(released), encoding="utf-8")

    nbgrader(course, "autograde", MODEL, "--create")

    with closing(sqlite3.connect(course / "gradebook.db")) as book:
        points = [score for (score,) in book.execute("SELECT auto_score FROM grade ORDER BY auto_score")]
    assert points == [0.0, 8.0]
