"""The notebook that opens the series, built from `katas/start_here/lesson.py` and the katas that exist."""

from __future__ import annotations

from pathlib import Path

from labkit.learning.katas import PARTS, Kata
from labkit.ui import editions

NAME = "00_start_here"


def text(root: Path, katas: list[Kata]) -> str:
    """The notebook's text, with the map of the series filled in.  Raises: BadKata."""
    notebook = editions.read(root / "katas" / "start_here" / "lesson.py", NAME)
    for cell in notebook.cells:
        cell.source = cell.source.replace("{{series}}", map_of(katas))
    return editions.to_text(notebook)


def map_of(katas: list[Kata]) -> str:
    """The series as Markdown tables, a part each, every kata a link to its notebook."""
    parts = []
    for part in sorted({kata.part for kata in katas}):
        rows = [
            f"| [{kata.slug}]({kata.slug}.ipynb) | {kata.title} | {kata.minutes} min |"
            for kata in katas
            if kata.part == part
        ]
        parts.append("\n".join([f"| Part {part} | {PARTS[part]} | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)
