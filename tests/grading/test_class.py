"""A made-up class through the whole of `lab grade`: what each comes to, and twenty deaths of the grader.

`LAB_CLASS=100` adds a class of at least a hundred: each kata's solution and mutants, and all that is hostile.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import gradebook
from labkit.learning import katas

from . import deaths
from .classes import HandIn, hand_in, small, whole

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(3600)]
LEARNERS = 30
MORE = int(os.environ.get("LAB_CLASS", "0"))  # by hand: it takes minutes
POINTS = (  # (function, file, which call of it), in the order in which a class comes by them
    ("create", "stores/sqlite.py", 1),  # nothing is there yet
    ("rename", "pathlib.py", 1),  # the gradebook is whole and not in its place
    ("setting", "grading/gradebook.py", 1),  # the world's seed is not chosen
    ("claim_scratch", "grading/gradebook.py", 1),
    ("record", "grading/gradebook.py", 3),  # before the third mark of those that are not run
    ("text_of", "grading/gradebook.py", 9),  # within a mark's transaction
    ("run_bare", "grading/classroom.py", 1),
    ("receive", "harness/pool.py", 1),  # the bare starter was swept, and nobody has heard of it
    ("put", "grading/gradebook.py", 2),  # a sweep is done, and nothing of it is put down
    ("_request", "grading/here.py", 2),  # the first answer is about to be run
    ("receive", "harness/pool.py", 1),
    ("marked", "grading/classroom.py", 1),  # judged, and not put down
    ("text_of", "grading/gradebook.py", 2),  # within the transaction of the second mark
    ("record", "grading/gradebook.py", 2),
    (
        "put",
        "grading/gradebook.py",
        1,
    ),  # every mark stands, and what the kata's own runs show is not put down
    ("forget_all_but", "grading/gradebook.py", 1),
    ("put", "grading/results.py", 1),  # no file is there
    ("replace", "pathlib.py", 2),  # results.json is written and not in its place
    ("put", "grading/results.py", 12),  # some feedback pages are there
    ("page", "ui/class_page.py", 1),
)


def graded(folder: Path, out: Path, *options: str) -> int:
    command = [sys.executable, "-m", "labkit.ui.cli", "grade", str(folder), "--out", str(out), *options]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, HandIn]]:
    """A class of thirty graded at one go: its folder, the results', and what is expected."""
    folder, out = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("whole")
    learners = hand_in(folder, small(LEARNERS))
    with gradebook.opened(out) as book:
        book.put("secret", "the same worlds for both")
    assert graded(folder, out, "--kata", "k03", "--jobs", "1") == 1
    return folder, out, learners


def marks_of(out: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return {one["learner"]: one["katas"] for one in document["learners"]}


def require_expected(out: Path, learners: dict[str, HandIn]) -> None:
    """Each learner has what is expected, in the document and in the table."""
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        table = {(row["learner"], row["kata"]): row for row in csv.DictReader(file)}
    found = marks_of(out)
    assert found.keys() == learners.keys()
    for learner, one in learners.items():
        mark, row = found[learner][one.slug], table[learner, one.slug]
        exercise = katas.find(one.slug).points * 4 // 5
        assert one.outcome in ("", mark["outcome"]), (learner, mark)
        assert mark["outcome"] != "infra_error", (learner, mark)
        assert (mark["exercise"] == exercise) == one.is_whole, (learner, mark)
        assert one.is_whole or mark["exercise"] == 0 or one.verdict == "stuck", (learner, mark)
        assert not one.verdict or one.verdict in mark["verdicts"], (learner, mark)
        assert (row["outcome"], row["exercise"]) == (mark["outcome"], str(mark["exercise"]))


def test_each_of_thirty_comes_to_what_it_must(made_up: tuple[Path, Path, dict[str, HandIn]]) -> None:
    _folder, out, learners = made_up

    require_expected(out, learners)
    assert len(learners) == LEARNERS


@pytest.fixture
def grader() -> Iterator[subprocess.Popen[str]]:
    """Graders that die where they are told to."""
    command = [sys.executable, deaths.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield program
        program.kill()


def test_killed_at_twenty_points_and_run_again_the_same_bytes(
    made_up: tuple[Path, Path, dict[str, HandIn]], tmp_path: Path, grader: subprocess.Popen[str]
) -> None:
    """Each death is a SIGKILL, and each later than the one before: they go through the whole run."""
    folder, undisturbed, _learners = made_up
    out = tmp_path / "out"
    words = ["grade", str(folder), "--out", str(out), "--kata", "k03", "--jobs", "1"]
    ends = []
    for function, file, count in (*POINTS, ("", "", 0)):
        if function == "claim_scratch":
            with gradebook.opened(out) as book:
                book.put("secret", "the same worlds for both")
        assert grader.stdin is not None
        assert grader.stdout is not None
        grader.stdin.write(json.dumps([words, function, file, count]) + "\n")
        grader.stdin.flush()
        ends.append(int(grader.stdout.readline()))

    assert ends == [-9] * len(POINTS) + [1]
    assert len(POINTS) == 20
    files = [
        path.relative_to(undisturbed)
        for path in undisturbed.rglob("*")
        if path.suffix in (".csv", ".json", ".xml", ".html")
    ]
    assert len(files) == LEARNERS + 4
    for file in files:
        assert (out / file).read_bytes() == (undisturbed / file).read_bytes(), file


if MORE:

    def test_each_of_a_whole_class_comes_to_what_it_must(tmp_path: Path) -> None:
        learners = hand_in(tmp_path / "class", whole(MORE))

        assert graded(tmp_path / "class", tmp_path / "out") == 1

        require_expected(tmp_path / "out", learners)
        assert len(learners) >= MORE
