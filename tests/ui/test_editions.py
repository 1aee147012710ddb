"""Two notebooks from one lesson: the learner's holds no solution, and both are the same bytes every time."""

from __future__ import annotations

import re

import nbformat
import pytest

from labkit.errors import BadKata
from labkit.learning.katas import Kata
from labkit.ui import editions

EXERCISE = '''\
from labkit.kata import atomic


def resume(world):
    """Finish it."""
    key = 1
    # solution
    if key:
        return 2

    return 3


def helper():
    return 4
'''


def test_the_block_after_the_mark_becomes_a_gap() -> None:
    assert (
        editions.starter(EXERCISE, "here")
        == '''\
from labkit.kata import atomic


def resume(world):
    """Finish it."""
    key = 1
    # Write your code here.
    raise NotImplementedError


def helper():
    return 4'''
    )


def test_every_mark_becomes_a_gap() -> None:
    source = "def a():\n    # solution\n    return 1\n\n\ndef b():\n    # solution\n    return 2"

    starter = editions.starter(source, "here")

    assert starter.count("raise NotImplementedError") == 2
    assert "return" not in starter


@pytest.mark.parametrize(
    "source", ["def a():\n    return 1", "def a():\n    return 1  # solution", "# solutions"]
)
def test_an_exercise_without_a_mark_is_refused(source: str) -> None:
    with pytest.raises(BadKata, match="has no line `# solution`"):
        editions.starter(source, "k01/lesson.py cell exercise")


def test_ids_come_from_the_slug_and_the_name(kata: Kata) -> None:
    for notebook in (editions.lesson(kata), editions.learner(kata)):
        for cell in notebook.cells:
            assert cell.id == f"k03-missing-ack-{cell.metadata.name.replace('_', '-')}"


def test_the_learners_edition_lacks_solution_cells_and_nothing_else(kata: Kata) -> None:
    lesson, learner = editions.lesson(kata), editions.learner(kata)

    dropped = [cell.metadata.name for cell in lesson.cells if cell not in learner.cells]
    assert dropped == ["surprise", "exercise"]
    assert [cell.metadata.name for cell in learner.cells if cell not in lesson.cells] == ["exercise"]


def test_a_built_notebook_is_valid_and_ends_in_one_newline(kata: Kata) -> None:
    text = editions.to_text(editions.learner(kata))

    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text.endswith("}\n")
    assert text == editions.to_text(editions.learner(kata))


SPOILT = {
    "a cell without a name": ('name="story"', "", "has the name ''"),
    "a name twice": ('name="story"', 'name="question"', "has the name 'question'"),
    "a name that makes no id": ('name="story"', 'name="The Story"', "has the name 'The Story'"),
    "an unknown tag": ('tags=["run"]', 'tags=["runs"]', "has the tag runs"),
    "no predict cell": (' tags=["predict"]', "", "needs one code cell tagged predict"),
    "no observe cell": (' tags=["observe"]', "", "needs one code cell tagged observe"),
    "a run after it was read": (
        'name="check" tags=["check"]',
        'name="check" tags=["run"]',
        "in another order",
    ),
    "a check before it was read": (
        'name="kill" tags=["run"]',
        'name="kill" tags=["check"]',
        "in another order",
    ),
    "parameters with a default": ("predictions = None", "predictions = {}", "begins with other code"),
    "no exercise": (' tags=["exercise"]', "", "needs one code cell tagged exercise"),
}


@pytest.mark.parametrize(("old", "new", "message"), SPOILT.values(), ids=SPOILT.keys())
def test_a_lesson_that_is_none_is_refused(kata: Kata, old: str, new: str, message: str) -> None:
    file = kata.folder / "lesson.py"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(BadKata, match=re.escape(message)):
        editions.learner(kata)


def test_a_solution_outside_of_the_exercise_is_refused(kata: Kata) -> None:
    file = kata.folder / "lesson.py"
    text = file.read_text(encoding="utf-8").replace("kata.check()", "# solution\nkata.check()")
    file.write_text(text, encoding="utf-8")

    with pytest.raises(BadKata, match="cell check holds `# solution`"):
        editions.learner(kata)
