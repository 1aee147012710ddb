"""One lesson, two notebooks: the learner's, from which every solution is gone, and the solved one.

`lesson.py` (jupytext percent format) is the only source.  A notebook is built in memory here and is
the same bytes whenever it is built: ids come from the kata's slug and the cell's name.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext  # type: ignore[import-untyped]
import nbformat
from nbformat import NotebookNode

from labkit.errors import BadKata
from labkit.learning.katas import Kata

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TAGS = ("parameters", "predict", "run", "observe", "check", "solution", "exercise")
STEPS = ("predict", "run", "observe", "check")  # in this order
NAME = re.compile(r"[a-z][a-z0-9_]*")
SOLUTION = re.compile(r"^(?P<indent> *)# solution *$")
GAP = ("# Write your code here.", "raise NotImplementedError")


def lesson(kata: Kata) -> NotebookNode:
    """The lesson as written, solutions and all, without outputs.

    Raises:
        BadKata: a cell has no name of its own, an unknown tag, or a tag's cell is missing or misplaced.
    """
    notebook = read(kata.folder / "lesson.py", kata.slug)
    _require_tags(kata, notebook.cells)
    return notebook


def read(path: Path, slug: str) -> NotebookNode:
    """A notebook from a file in percent format; every cell needs a name, which gives it its id.

    Raises:
        BadKata: a cell has no name of its own, or an unknown tag.
    """
    cells: list[NotebookNode] = []
    for number, cell in enumerate(
        jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent").cells, 1
    ):
        name, tags = cell.metadata.get("name", ""), cell.metadata.get("tags", [])
        place = f"{path.parent.name}/{path.name} cell {number}"
        if not NAME.fullmatch(name) or name in {one.metadata.name for one in cells}:
            raise BadKata(f"{place} has the name {name!r}", 'write # %% name="some_name", each name once')
        if odd := [tag for tag in tags if tag not in TAGS]:
            raise BadKata(f"{place} has the tag {odd[0]}", f"use only {', '.join(TAGS)}")
        cells.append(_cell(slug, cell.cell_type, name, tags, cell.source))
    return _notebook(cells)


def learner(kata: Kata) -> NotebookNode:
    """The learner's edition: no solution cell, a gap where the solution stood, no output.

    Raises:
        BadKata: the lesson is not one, or its exercise has no `# solution` line.
    """
    cells = [cell for cell in lesson(kata).cells if "solution" not in cell.metadata.tags]
    for cell in cells:
        if "exercise" in cell.metadata.tags:
            cell.source = starter(cell.source, f"{kata.slug}/lesson.py cell {cell.metadata.name}")
        elif "# solution" in cell.source:
            raise BadKata(
                f"{kata.slug}/lesson.py cell {cell.metadata.name} holds `# solution`", "tag it exercise"
            )
    return _notebook(cells)


def starter(source: str, place: str) -> str:
    """An exercise's source with the block after each `# solution` taken out.

    The block reaches to the first line that is indented less.  Raises: BadKata without such a line.
    """
    kept: list[str] = []
    inside: int | None = None  # the indent of the block that is being taken out
    blank = 0  # empty lines at its end belong to what follows
    for line in source.splitlines():
        if inside is not None and line.strip() and len(line) - len(line.lstrip()) < inside:
            inside = None
            kept += [""] * blank
        if (found := SOLUTION.match(line)) and inside is None:
            inside = len(found["indent"])
            kept += [found["indent"] + text for text in GAP]
        elif inside is None:
            kept.append(line)
        blank = 0 if line.strip() else blank + 1
    if GAP[1] not in "\n".join(kept):
        raise BadKata(f"{place} has no line `# solution`", "put one above what the learner is to write")
    return "\n".join(kept)


def to_text(notebook: NotebookNode) -> str:
    """The file's text."""
    nbformat.validate(notebook)
    writes: Any = nbformat.writes  # nbformat's functions have no types
    return str(writes(notebook, version=4)).rstrip("\n") + "\n"


def finished(executed: NotebookNode, kata: Kata) -> NotebookNode:
    """An executed notebook without what differs from run to run: times, papermill's notes, new ids."""
    cells = []
    for cell in executed.cells:
        if "papermill-error-cell-tag" in cell.metadata.get("tags", []):
            continue  # its pointer to a cell that failed
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.metadata = {"name": "injected", "tags": ["injected-parameters"]}
        kept = _cell(kata.slug, cell.cell_type, cell.metadata["name"], cell.metadata["tags"], cell.source)
        if cell.cell_type == "code":
            kept.execution_count, kept.outputs = cell.execution_count, cell.outputs
        cells.append(kept)
    return _notebook(cells)


def _cell(slug: str, kind: str, name: str, tags: list[str], source: str) -> NotebookNode:
    make: Any = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    cell: NotebookNode = make(source=source, metadata={"name": name, "tags": list(tags)})
    cell.id = f"{slug}-{name}".replace("_", "-")[:64]
    return cell


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    new: Any = nbformat.v4.new_notebook
    made: NotebookNode = new(cells=cells, metadata=METADATA)
    made.nbformat_minor = 5
    return made


def _require_tags(kata: Kata, cells: list[NotebookNode]) -> None:
    code = [cell for cell in cells if cell.cell_type == "code"]
    for tag in ("parameters", "predict", "observe", "exercise"):
        if sum(tag in cell.metadata.tags for cell in code) != 1:
            raise BadKata(f"{kata.slug}/lesson.py needs one code cell tagged {tag}", "tag it")
    if "parameters" not in code[0].metadata.tags or code[0].source != "predictions = None":
        raise BadKata(
            f"{kata.slug}/lesson.py begins with other code",
            "begin with `predictions = None`, tagged parameters",
        )
    steps = [[number for number, cell in enumerate(code) if tag in cell.metadata.tags] for tag in STEPS]
    if any(not cells for cells in steps) or any(max(a) > min(b) for a, b in pairwise(steps)):
        raise BadKata(
            f"{kata.slug}/lesson.py has its steps in another order", f"tag its cells {', '.join(STEPS)}"
        )
