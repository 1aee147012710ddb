"""The crash map: a handler's source, and at each line what a crash there costs.

Four forms of the same story, each a pure function of the sweep: a fragment for a notebook, a page that
stands alone, plain text, and a renderable for the terminal.
"""

from __future__ import annotations

from html import escape

from rich.text import Text

from labkit.observations import Sweep
from labkit.ui import crash_view


def html_fragment(sweep: Sweep) -> str:
    """For a notebook's output cell: refers to nothing outside itself, styles nothing but itself."""
    return f"<pre>{escape(text(sweep))}</pre>"


def html_page(sweep: Sweep) -> str:
    """A whole page that stands alone."""
    return f'<!doctype html><meta charset="utf-8"><title>Crash map</title>{html_fragment(sweep)}'


def renderable(sweep: Sweep) -> Text:
    """For a rich console."""
    return Text(text(sweep))


def text(sweep: Sweep) -> str:
    """In words and symbols."""
    lines = []
    for listing in crash_view.listings(sweep):
        lines.append(f"{listing.file}, {listing.function}: {listing.role}")
        for row in listing.rows:
            costs = "; ".join(
                f"{stretch.numbers} {', '.join(f'{s.symbol} {s.name}' for s in stretch.signs)}"
                for stretch in row.stretches
            )
            lines.append(f"{row.line:4} | {row.text:70} | {costs}".rstrip(" |"))
    return "\n".join(lines)
