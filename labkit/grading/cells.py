"""The exercise's cell in a notebook that anything may have happened to since it was handed out.

It is found by its id, then by its tag, then by its marker, which is the definition of the exercise's
function.  Outputs, kernelspec and execution counts are never read.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

MOST_SOURCE_BYTES = 200_000
OPENED = re.compile(r"""open_kata\(\s*['"]([a-z0-9_]+)['"]""")


class NotANotebook(Exception):
    """A file that cannot be read as a notebook, and why."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as grading sees it.  `number` counts from 1."""

    number: int
    kind: str
    id: str
    tags: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Found:
    """What became of the exercise's cell.  `source` is None where there is nothing to judge."""

    source: str | None
    outcome: str = "judged"  # or not_attempted, tampered, malformed
    why: str = ""
    notes: tuple[str, ...] = ()


def read_notebook(content: bytes) -> tuple[Cell, ...]:
    """The cells of a notebook file of format 4.x.  Raises: NotANotebook."""
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise NotANotebook(f"it is no JSON ({str(error)[:80]})") from None
    if not isinstance(notebook, dict):
        raise NotANotebook("it is no notebook")
    if notebook.get("nbformat") != 4:
        raise NotANotebook(
            f"it has notebook format {notebook.get('nbformat')!r}; open it in Jupyter and save it"
        )
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise NotANotebook("it has no list of cells")
    return tuple(_cell(number, raw) for number, raw in enumerate(cells, 1) if isinstance(raw, dict))


def _cell(number: int, raw: dict[str, Any]) -> Cell:
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    metadata = raw.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return Cell(
        number,
        str(raw.get("cell_type", "")),
        raw["id"] if isinstance(raw.get("id"), str) else "",
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        source if isinstance(source, str) else "",
    )


def kata_of(cells: tuple[Cell, ...], name: str, slugs: list[str]) -> str | None:
    """The kata that a notebook is of: by its cells' ids, by what it opens, by its file's name."""
    for slug in slugs:
        prefix = slug.replace("_", "-") + "-"
        if any(cell.id.startswith(prefix) for cell in cells):
            return slug
    for cell in cells:
        if cell.kind == "code" and (opened := OPENED.search(cell.source)) and opened[1] in slugs:
            return opened[1]
    return next((slug for slug in slugs if slug in name), None)


def exercise_in(cells: tuple[Cell, ...], slug: str, function: str) -> Found:
    """The exercise's source.  Of several cells that could be it, the last that defines the function counts."""
    by_id = [cell for cell in cells if cell.id == f"{slug}-exercise".replace("_", "-")[:64]]
    by_tag = [cell for cell in cells if "exercise" in cell.tags]
    by_marker = [cell for cell in cells if cell.kind == "code" and defines(cell.source, function)]
    for candidates in (by_id, by_tag, by_marker):
        fitting = [cell for cell in candidates if cell in by_marker]
        if fitting:
            return attempted(fitting[-1].source, function, _notes(candidates, fitting[-1], by_marker))
    named = by_id or by_tag
    if not named:
        return Found(None, "not_attempted", f"the notebook has no cell that defines `{function}`")
    cell = named[-1]
    if cell.kind != "code":
        return Found(
            None, "tampered", f"cell {cell.number}, the exercise's, is a {cell.kind or 'nameless'} cell now"
        )
    if len(cell.source.encode("utf-8", "replace")) > MOST_SOURCE_BYTES:
        return Found(None, "malformed", f"cell {cell.number} has more than {MOST_SOURCE_BYTES} bytes")
    if not cell.source.strip():
        return Found(None, "not_attempted", f"cell {cell.number}, the exercise's, is empty")
    if (why := not_python(cell.source)) is not None:
        return Found(None, "malformed", f"cell {cell.number} is no Python: {why}")
    return Found(None, "not_attempted", f"cell {cell.number}, the exercise's, defines no `{function}`")


def _notes(candidates: list[Cell], chosen: Cell, by_marker: list[Cell]) -> tuple[str, ...]:
    others = sorted({cell.number for cell in (*candidates, *by_marker)} - {chosen.number})
    if not others:
        return ()
    listed = ", ".join(map(str, others))
    return (f"cells {listed} and {chosen.number} could be the exercise; cell {chosen.number} counts",)


def attempted(source: str, function: str, notes: tuple[str, ...] = ()) -> Found:
    """The verdict on a source by itself: judged by running it, or not worth a run."""
    if len(source.encode("utf-8", "replace")) > MOST_SOURCE_BYTES:
        return Found(None, "malformed", f"the answer has more than {MOST_SOURCE_BYTES} bytes", notes)
    if (why := not_python(source)) is not None:
        return Found(None, "malformed", f"the answer is no Python: {why}", notes)
    if not defines(source, function):
        return Found(None, "not_attempted", f"the answer defines no `{function}`", notes)
    if is_starter(source, function):
        return Found(None, "not_attempted", f"`{function}` is as it was handed out", notes)
    return Found(source, notes=notes)


def not_python(source: str) -> str | None:
    """Why a source cannot be compiled, None where it can."""
    try:
        source.encode("utf-8")
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {str(error)[:120]}"
    return None


def _functions(source: str, name: str) -> list[ast.FunctionDef]:
    if len(source) > MOST_SOURCE_BYTES or not_python(source) is not None:
        return []
    return [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name
    ]


def defines(source: str, function: str) -> bool:
    """Whether a source defines the function at its top level; the name alone must stand in it otherwise.

    A source that is no Python defines what it seems to define, so that its error is reported.
    """
    if len(source) > MOST_SOURCE_BYTES or not_python(source) is not None:
        return re.search(rf"^(async\s+)?def\s+{function}\s*\(", source, re.MULTILINE) is not None
    return (
        bool(_functions(source, function)) or re.search(rf"^{function}\s*=", source, re.MULTILINE) is not None
    )


def is_starter(source: str, function: str) -> bool:
    """Whether the function does nothing but raise NotImplementedError, as it was handed out."""
    found = _functions(source, function)
    if not found:
        return False
    body = [
        node for node in found[-1].body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]  # fmt: skip
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.unparse(body[0])
