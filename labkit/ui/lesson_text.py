"""A lesson as text, up to its prediction: the story, the workers' source, a run that nothing interrupts.

What stands there spoils nothing, for a notebook shows it before anything is asked.  It is read from
the solved notebook, whose outputs a test keeps true.
"""

from __future__ import annotations

import json
from typing import Any

from labkit.errors import BadKata
from labkit.learning.katas import Kata


def before_the_prediction(kata: Kata) -> str:
    """Everything that the lesson shows before it asks.

    Raises:
        BadKata: the solved notebook is missing, or is none.
    """
    path = kata.folder / "solved.ipynb"
    parts: list[str] = []
    try:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if "predict" in cell["metadata"].get("tags", []):
                break
            parts += [_plain("".join(cell["source"]))] if cell["cell_type"] == "markdown" else _shown(cell)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadKata(
            f"{kata.slug}/solved.ipynb cannot be read ({type(error).__name__})",
            f"lab author build {kata.slug}",
        ) from None
    return "\n\n".join(parts)


def _shown(cell: dict[str, Any]) -> list[str]:
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
