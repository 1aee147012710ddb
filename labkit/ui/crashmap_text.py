"""The crash map without a browser: plain text, and the same lines with colour for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from labkit.harness.packets import SHOWS
from labkit.observations import Sweep
from labkit.ui import (
    crash_first,
    crash_headline,
    crash_outcomes,
    crash_view,
    crash_way,
    crashgraph,
    crashgrid,
)
from labkit.ui.crash_first import FirstWrong
from labkit.ui.crash_outcomes import Outcome
from labkit.ui.crash_view import Listing
from labkit.ui.crash_way import WrongEnd
from labkit.ui.signs import visible

STYLES = {"fail": "bold red", "unjudged": "yellow", "pass": "green", "": "", "dim": "dim"}
MARKS = {"pass": "✓", "fail": "✗", "unjudged": "!"}
Line = tuple[str, str]  # a text, and its tone; one text may hold several lines


def plain(sweep: Sweep) -> str:
    """Everything that the picture shows, as text."""
    return "\n".join(text for text, _ in [*head(sweep), *body(sweep), *details(sweep), (SHOWS, "")])


def coloured(sweep: Sweep) -> RenderableType:
    """For a terminal: the same without the list of every outcome, which `--html` and `--json` have."""
    return Group(
        *(
            Text(text, style=STYLES[tone], no_wrap=False)
            for text, tone in [*head(sweep), *body(sweep), (SHOWS, "dim")]
        )
    )


def head(sweep: Sweep) -> Iterator[Line]:
    """The verdict, the first wrong crash, the tally, the problems."""
    tone = crash_headline.tone(sweep)
    yield f"{MARKS[tone]} {crash_headline.headline(sweep)}", tone
    yield f"{visible(sweep.scenario)}: {crash_headline.workers(sweep)}", "dim"
    for problem in sweep.problems:
        yield f"! This sweep is not sound: {visible(problem)}", "unjudged"
    first = crash_first.first_wrong(sweep)
    end = crash_way.wrong_end(sweep)
    if first is not None:
        yield from _first(first)
    elif end is not None:
        yield from _end(end)
    for sign, count in crash_outcomes.tally(sweep):
        yield f"{sign.symbol} {count} {sign.name}: {sign.meaning}", sign.tone
    control = Outcome((sweep.control,))
    yield f"{control.signs[0].symbol} {control.names}: without any crash", control.signs[0].tone
    yield f"{crash_headline.done(sweep)}. A crash at a point is a crash just before it.", "dim"


def _first(first: FirstWrong) -> Iterator[Line]:
    tone = first.outcome.signs[0].tone
    yield f"\nFirst here: {crash_first.where(first)}", tone
    if first.source:
        yield f"  {first.line}  {first.source}", tone
    if first.around:
        yield "  " + ", ".join(f"{sign.symbol} {label}" for sign, label in crash_first.around(first)), ""
    yield crash_outcomes.in_lines(first.outcome) + "\n", ""


def _end(end: WrongEnd) -> Iterator[Line]:
    yield f"\nShortest way to a wrong end: {end.where}", "fail"
    if end.source:
        yield f"  {end.line}  {end.source}  ({end.file})", "fail"
    names = ", ".join(f"{sign.symbol} {sign.name}: {sign.meaning}" for sign in end.state.signs)
    yield (
        f"{names}\n  because      {end.because}\n  left behind  {end.left}\n  again        {visible(end.command)}\n",
        "",
    )


def body(sweep: Sweep) -> Iterator[Line]:
    """The source with its costs, then the grid and the graph where there are any."""
    role, line = crash_first.here(crash_first.first_wrong(sweep))
    for listing in crash_view.listings(sweep):
        yield from _listing(listing, line if listing.role == role else 0)
    if grid := crashgrid.text(sweep):
        yield "\nFirst crash, then second crash", ""
        yield grid, ""
    if sweep.closure is not None:
        yield "\nThe durable states that crashes can reach", ""
        yield crashgraph.text(sweep.closure), ""


def _listing(listing: Listing, here: int) -> Iterator[Line]:
    unswept = "" if listing.is_swept else " (not crashed at this depth)"
    yield f"\n{listing.role.capitalize()}: {listing.function} in {listing.file}{unswept}", ""
    for row in listing.rows:
        if row.follows_gap:
            yield "        ...", "dim"
        pointer = ">" if row.line and row.line == here else " "
        yield (
            f"{pointer}{row.line or '':>5}  {row.text if row.line else f'(outside these lines: {row.text})'}".rstrip(),
            row.tone or "",
        )
        for stretch in row.stretches:
            symbols = "".join(sign.symbol for sign in stretch.signs)
            yield f"         {symbols} {stretch.label} {crash_outcomes.ends(stretch.results)}", stretch.tone


def details(sweep: Sweep) -> Iterator[Line]:
    """Every outcome in full, and what each crash point's number stands for."""
    yield (
        "\nWhat each crash costs (for another schedule of a list, put its numbers after --at, joined by commas)",
        "",
    )
    for outcome in crash_outcomes.outcomes(sweep.results):
        yield crash_outcomes.in_lines(outcome), outcome.signs[0].tone
    yield "\nCrash points", ""
    for role, position in (("first run", 0), ("recovery", 1)):
        labels = [visible(mark.point.label) for mark in crash_view.marks_at(position, sweep)]
        if labels:
            yield f"{role}: {'; '.join(labels)}", ""
    yield "", ""
