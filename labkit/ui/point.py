"""How one trial of an exercise looks: where the kill fell, the timeline, the rows, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from labkit.boundaries import Boundary
from labkit.observations import PointResult, Snapshot, Sweep, Trial
from labkit.ui import crash_first, crash_outcomes, point_story, row_tables, story, theme, timeline
from labkit.ui.crash_outcomes import Outcome
from labkit.ui.crash_view import bare

AROUND = 2  # lines of source shown before and after the one that was killed


@dataclass(frozen=True, slots=True)
class SeenTrial:
    """One trial of a kata's exercise as the learner holds it, with the kata's numbered boundaries."""

    trial: Trial
    boundaries: tuple[Boundary, ...]

    @property
    def result(self) -> PointResult:
        """What it cost."""
        return self.trial.result

    @property
    def looks(self) -> list[tuple[str, Snapshot]]:
        """The rows after the first run and at the end, by name; none where it could not be judged."""
        seen = self.trial.observation
        if seen is None or seen.interruption is None:
            return []
        return [(story.first_look(bool(self.result.schedule)), seen.interruption), ("at the end", seen.final)]


def bundle(value: SeenTrial) -> dict[str, Any]:
    """One trial as text and HTML."""
    return {"text/plain": text(value), "text/html": theme.paragraph(headline(value)) + body(value)}


def text(value: SeenTrial) -> str:
    """The timeline, the rows at the kill and at the end, and what it cost, in words."""
    blocks = []
    if value.looks:
        told = point_story.tell(value.trial, value.boundaries)
        blocks = [timeline.as_text(told), *row_tables.plain(value.looks, told.ledgers)]
    return "\n\n".join([*blocks, crash_outcomes.in_lines(Outcome((value.result,)))])


def headline(value: SeenTrial) -> str:
    """How it ended and where the kill fell, in one line of HTML."""
    signs = Outcome((value.result,)).signs
    names = ", ".join(sign.name for sign in signs)
    meanings = "; ".join(sign.meaning for sign in signs)
    place = f"at {where(value.result)}" if value.result.schedule else "with no kill"
    return f"{theme.sign(value.result.passed, names)} {escape(place)}: {escape(meanings)}"


def body(value: SeenTrial) -> str:
    """The source around the kill, the timeline, the three columns and the rows, as HTML."""
    outcome = Outcome((value.result,))
    columns = (outcome.promised, outcome.recorded, outcome.happened)
    parts = [source(value.trial)]
    if value.looks:
        told = point_story.tell(value.trial, value.boundaries)
        parts.append(f'<div style="overflow-x:auto">{timeline.as_svg(told)}</div>')
    parts.append(theme.table(("promised", "recorded", "happened"), [tuple(map(escape, columns))]))
    if value.looks:
        parts += row_tables.html(value.looks, told.ledgers)
    parts.append(theme.paragraph(escape(outcome.because)))
    parts.append(theme.paragraph(f"Again, in a terminal: {theme.code(value.result.command)}"))
    return "".join(parts)


def result_bundle(result: PointResult) -> dict[str, Any]:
    """What one schedule of a sweep cost, of which nothing else was kept, as text and HTML."""
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


def resting(sweep: Sweep) -> int:
    """The crash point to look at first: where it first goes wrong, else where the first effect is durable."""
    if (first := crash_first.first_wrong(sweep)) is not None:
        return first.result.schedule[0].number if first.result.schedule else 0
    durable = (point.number for point in sweep.points if bare(point) == Boundary.EFFECT_COMMITTED)
    return next(durable, 0)


def source(trial: Trial) -> str:
    """The lines of the first run around the kill, as HTML; empty where no line was running."""
    line = trial.result.schedule[0].line if trial.result.schedule else 0
    if not line:
        return ""
    lines = trial.source.splitlines()
    shown = []
    for number in range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1):
        text = f"{theme.FAIL if number == line else ' '} {number:3}  {lines[number - 1]}"
        weight = f"{theme.readable(theme.RED)}; font-weight:600" if number == line else ""
        shown.append(f'<span style="{weight}">{escape(text)}</span>')
    style = f"font:13px/1.5 {theme.MONO}; margin:4px 0; overflow-x:auto"
    return f'<pre style="{escape(style)}">' + "\n".join(shown) + "</pre>"
