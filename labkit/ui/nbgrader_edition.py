"""Notebooks for those who collect and release by nbgrader: the learner's edition with its metadata.

nbgrader runs tests inside the learner's own process; the points that count come from `lab grade`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from labkit.errors import BadKata
from labkit.learning.katas import Kata
from labkit.ui import editions

SCHEMA_VERSION = 3  # https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html


def files(kata: Kata, folder: Path) -> dict[Path, str]:
    """The source notebook of one assignment below nbgrader's course folder, by its place.

    Raises:
        BadKata: the lesson is not one, or no cell checks the exercise.
    """
    return {folder / "source" / kata.slug / f"{kata.slug}.ipynb": editions.to_text(notebook(kata))}


def notebook(kata: Kata) -> NotebookNode:
    """The learner's edition; the exercise is a solution cell, its check a locked test cell with points."""
    made = editions.learner(kata)
    call = f"kata.check({kata.exercise})"
    checks = [cell for cell in made.cells if cell.cell_type == "code" and call in cell.source]
    if len(checks) != 1:
        raise BadKata(f"{kata.slug}/lesson.py has {len(checks)} cells with {call}", "write exactly one")
    for cell in made.cells:
        if "exercise" in cell.metadata.tags:
            cell.metadata["nbgrader"] = metadata(cell, solution=True)
        elif cell is checks[0]:
            cell.source = f"checked = {call}\nassert checked.passed, checked.verdicts\nchecked"
            cell.metadata["nbgrader"] = metadata(cell, solution=False) | {
                "points": kata.points - kata.points // 5
            }
    return made


def metadata(cell: NotebookNode, solution: bool) -> dict[str, Any]:
    """What nbgrader wants to know of one cell."""
    return {
        "grade": not solution,
        "grade_id": cell.id,
        "locked": not solution,
        "schema_version": SCHEMA_VERSION,
        "solution": solution,
        "task": False,
    }
