"""One page a learner: what each answer did at every crash point.  Nothing of the checker is on it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from markupsafe import Markup

from labkit.grading import results
from labkit.grading.classroom import ClassResult, Row
from labkit.grading.gradebook import Gradebook
from labkit.grading.marks import Mark
from labkit.harness import sweep_files
from labkit.learning.katas import Kata
from labkit.ui import crashmap, theme
from labkit.ui.pages import template

EXPLAINED = {
    "judged": "",
    "not_attempted": "There was nothing to run.",
    "malformed": "The answer could not be run.",
    "tampered": "The answer did something to its surroundings that no answer needs.",
    "killed_by_limit": "The answer was ended because it passed a limit.",
    "timed_out": "The answer did not come to an end in time.",
    "not_killed": "A run that was to die did not.",
    "flaky": "The same run ended differently when it was repeated.",
    "infra_error": "The grading machine failed. This is not a score; it will be run again.",
}


def write(result: ClassResult, book: Gradebook, folder: Path) -> None:
    """Write a page for every learner; pages of learners who are gone are taken away."""
    folder.mkdir(exist_ok=True)
    names = {file_name(row.learner) for row in result.rows}
    for old in folder.glob("*.html"):
        if old.name not in names:
            old.unlink()
    for row in result.rows:
        results.put(folder / file_name(row.learner), page(row, result, book))


def file_name(learner: str) -> str:
    """A file's name that every system takes, and that no two learners share."""
    digest = hashlib.sha256(learner.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', learner)[:40]}-{digest}.html"


def page(row: Row, result: ClassResult, book: Gradebook) -> str:
    """The page's HTML.  It refers to nothing outside itself."""
    katas = [_kata(kata, row.marks[kata.slug], book.sweep(row.learner, kata.slug)) for kata in result.katas]
    return template("feedback.html").render(
        learner=row.learner, earned=row.earned, possible=row.possible, katas=katas, notes=row.notes,
        theme=theme,
    )  # fmt: skip


def _kata(kata: Kata, mark: Mark, sweep: dict[str, Any] | None) -> dict[str, Any]:
    drawn = ""
    if sweep is not None:
        drawn = Markup(crashmap.html_fragment(sweep_files.from_json(sweep)))  # noqa: S704  escaped there
    is_whole = mark.outcome == "judged" and not mark.failed
    return {
        "title": kata.title,
        "slug": kata.slug,
        "mark": mark,
        "is_score": mark.outcome != "infra_error",
        "explained": EXPLAINED[mark.outcome],
        "hints": () if is_whole else kata.hints[:2],
        "predicted": mark.prediction > 0,
        "map": drawn,
    }
