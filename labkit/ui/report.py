"""report.html: one self-contained page with what every kata showed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jinja2
from markupsafe import Markup
from nbformat import NotebookNode

from labkit.ui import templates, theme
from labkit.ui.series_run import Outcome


def page(outcomes: Sequence[Outcome]) -> str:
    """The page's HTML.  It refers to nothing outside itself."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(templates.read("report.html"))
    katas = [{"outcome": one, "cells": [_cell(cell) for cell in one.notebook.cells]} for one in outcomes]
    return template.render(katas=katas, theme=theme)


def _cell(cell: NotebookNode) -> dict[str, Any]:
    outputs = [_output(output) for output in cell.outputs] if cell.cell_type == "code" else []
    return {"kind": cell.cell_type, "source": cell.source, "outputs": outputs}


def _output(output: NotebookNode) -> Markup | str:
    """An output as it may stand in the page: our own HTML as it is, everything else as text."""
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return Markup(data["text/html"])  # noqa: S704  it was escaped where it was made
    return str(data.get("text/plain", ""))
