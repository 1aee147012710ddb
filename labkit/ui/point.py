"""How one trial of an exercise looks: where it was killed, and what that cost in three columns."""

from __future__ import annotations

from html import escape
from typing import Any

from labkit.observations import PointResult, Sweep
from labkit.ui import crash_outcomes, theme
from labkit.ui.crash_outcomes import Outcome

AROUND = 2  # lines of source shown before and after the one that was killed


def bundle(result: PointResult) -> dict[str, Any]:
    """One trial as text and HTML."""
    outcome = Outcome((result,))
    columns = (outcome.promised, outcome.recorded, outcome.happened)
    parts = [
        theme.paragraph(f"{theme.sign(result.passed, outcome.names)} at {escape(where(result))}"),
        theme.table(("promised", "recorded", "happened"), [tuple(map(escape, columns))]),
        theme.paragraph(escape(outcome.because)),
        theme.paragraph(f"Again: {theme.code(result.command)}"),
    ]
    return {"text/plain": crash_outcomes.in_lines(outcome), "text/html": "".join(parts)}


def where(result: PointResult) -> str:
    """The crash in words: `21 effect.committed at line 15`, or `no crash`."""
    return crash_outcomes.labels(result)


def source(sweep: Sweep, result: PointResult) -> str:
    """The lines of the first run around the kill, as HTML; empty where no line was running."""
    line = result.schedule[0].line if result.schedule else 0
    if not line:
        return ""
    lines = sweep.sources[sweep.first[0]].splitlines()
    shown = []
    for number in range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1):
        text = f"{'✗' if number == line else ' '} {number:3}  {lines[number - 1]}"
        weight = f"color:{theme.RED}; font-weight:600" if number == line else ""
        shown.append(f'<span style="{weight}">{escape(text)}</span>')
    style = f"font:13px/1.5 {theme.MONO}; margin:4px 0; white-space:pre-wrap"
    return f'<pre style="{escape(style)}">' + "\n".join(shown) + "</pre>"
