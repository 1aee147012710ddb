"""A lesson as text: up to its prediction, before its exercise, and its end.

A notebook shows all of it; here each part comes when it spoils nothing more.  It is read from the
solved notebook, whose outputs a test keeps true.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from labkit.errors import BadKata
from labkit.learning.katas import Kata

Cell = dict[str, Any]


def before_the_prediction(kata: Kata) -> str:
    """The story, the workers' source, a run that nothing interrupts: everything before it asks.

    Raises:
        BadKata: the solved notebook is missing, or is none.
    """
    return _text(kata, lambda cells: cells[: _first(cells, "predict")])


def before_the_exercise(kata: Kata) -> str:
    """What is to be written, and for which world.  Raises: BadKata."""
    return _text(kata, lambda cells: _prose(cells[_first(cells, "check") : _first(cells, "exercise")]))


def after_the_exercise(kata: Kata) -> str:
    """What was seen, what this does not show, and questions to take along.  Raises: BadKata."""
    return _text(kata, lambda cells: _prose(cells[_last_code(cells) :]))


def _text(kata: Kata, part: Callable[[list[Cell]], list[Cell]]) -> str:
    path = kata.folder / "solved.ipynb"
    try:
        cells = part(json.loads(path.read_text(encoding="utf-8"))["cells"])
        return "\n\n".join(text for cell in cells for text in _texts(cell))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadKata(
            f"{kata.slug}/solved.ipynb cannot be read ({type(error).__name__})",
            f"lab author build {kata.slug}",
        ) from None


def _tags(cell: Cell) -> list[str]:
    tags: list[str] = cell["metadata"].get("tags", [])
    return tags


def _first(cells: list[Cell], tag: str) -> int:
    """The place of the first cell with a tag, the end without one."""
    return next((place for place, cell in enumerate(cells) if tag in _tags(cell)), len(cells))


def _last_code(cells: list[Cell]) -> int:
    return max(place for place, cell in enumerate(cells) if cell["cell_type"] == "code")


def _prose(cells: list[Cell]) -> list[Cell]:
    """Without code, results, and what stands in the author's edition alone."""
    return [cell for cell in cells if cell["cell_type"] == "markdown" and "solution" not in _tags(cell)]


def _texts(cell: Cell) -> list[str]:
    return [_plain("".join(cell["source"]))] if cell["cell_type"] == "markdown" else _shown(cell)


def _shown(cell: Cell) -> list[str]:
    """The text twins of a cell's outputs."""
    outputs = [output["data"]["text/plain"] for output in cell["outputs"] if "data" in output]
    return ["".join(text).strip("\n") for text in outputs]


def _plain(markdown: str) -> str:
    """Markdown without the marks that only a page needs; a heading is underlined."""
    lines: list[str] = []
    for line in markdown.splitlines():
        if line.startswith("#"):
            level, _, title = line.partition(" ")
            lines += [title, ("=" if level == "#" else "-") * len(title)]
        elif not line.startswith("```"):
            lines.append(line.replace("**", ""))
    return "\n".join(lines)
