"""report.html: one self-contained page with what every kata showed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup
from nbformat import NotebookNode

from labkit.ui import theme
from labkit.ui.series_run import Outcome

TEMPLATE = Path(__file__).with_name("templates") / "report.html"


def page(outcomes: Sequence[Outcome]) -> str:
    """The page's HTML.  It refers to nothing outside itself."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    katas = [{"outcome": one, "cells": [_cell(cell) for cell in one.notebook.cells]} for one in outcomes]
    return template.render(katas=katas, theme=theme)


def _cell(cell: NotebookNode) -> dict[str, Any]:
    if cell.cell_type == "markdown":
        return {"prose": _markdown(cell.source), "outputs": []}
    return {"source": cell.source, "outputs": [_output(output) for output in cell.outputs]}


def _markdown(text: str) -> Markup:
    """Prose as HTML; HTML within it is shown and not obeyed."""
    render = MarkdownIt("commonmark", {"html": False}).enable("table").render
    return Markup(render(text))  # noqa: S704  the renderer escapes


def _output(output: NotebookNode) -> Markup | str:
    """An output as it may stand in the page: our own HTML as it is, everything else as text."""
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return Markup(data["text/html"])  # noqa: S704  it was escaped where it was made
    if "text/markdown" in data:
        return _markdown(data["text/markdown"])
    return str(data.get("text/plain", ""))
