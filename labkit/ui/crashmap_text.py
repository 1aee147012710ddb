"""The crash map without a browser: plain text, and the same lines with colour for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
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
    unwritten,
)
from labkit.ui.crash_first import FirstWrong
from labkit.ui.crash_outcomes import Outcome
from labkit.ui.crash_view import Listing, Row
from labkit.ui.crash_way import WrongEnd
from labkit.ui.signs import visible

STYLES = {"fail": "bold red", "unjudged": "yellow", "pass": "green", "": "", "dim": "dim"}
WIDE = 110  # columns
MARKS = {"pass": "✓", "fail": "✗", "unjudged": "!"}
Line = tuple[str, str]  # a text, and its tone; one text may hold several lines


def plain(sweep: Sweep) -> str:
    """Everything that the picture shows, as text."""
    lines = [*head(sweep), *body(sweep), *pictures(sweep), *details(sweep), (SHOWS, "")]
    return "\n".join(visible(text) for text, _ in lines)


@dataclass(frozen=True, slots=True)
class OnTerminal:
    """For a terminal: the same but for the list of every outcome; on a wide one the costs stand beside the source."""

    sweep: Sweep

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        yield from map(_styled, head(self.sweep))
        if options.max_width < WIDE:
            yield from map(_styled, body(self.sweep))
        else:
            role, line = crash_first.here(crash_first.first_wrong(self.sweep))
            for listing in crash_view.listings(self.sweep):
                yield Text(f"\n{_title(listing)}", style="bold")
                yield _table(listing, line if listing.role == role else 0)
        yield from map(_styled, [*pictures(self.sweep), (f"\n{SHOWS}", "dim")])


def _styled(line: Line) -> Text:
    text, tone = line
    return Text(visible(text), style=STYLES[tone])


def _table(listing: Listing, here: int) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=6, justify="right")
    table.add_column(ratio=3, overflow="fold")
    table.add_column(ratio=2, overflow="fold")
    for row in listing.rows:
        costs = Text("\n").join(_styled((cost, tone)) for cost, tone in _costs(row))
        style = STYLES["fail"] if row.look == "fail" else ""
        table.add_row(Text(_number(row, here), style=style), Text(_source(row), style=style), costs)
    return table


def verdict(sweep: Sweep) -> str:
    """The one sentence to read, with its mark."""
    return f"{MARKS[crash_headline.tone(sweep)]} {crash_headline.headline(sweep)}"


def head(sweep: Sweep) -> Iterator[Line]:
    """The verdict, the first wrong crash, the tally, the problems."""
    yield verdict(sweep), crash_headline.tone(sweep)
    if not_written := unwritten.line(sweep):
        yield not_written, "unjudged"
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
    yield f"{crash_headline.done(sweep)}.", "dim"


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
    """The source with its costs."""
    role, line = crash_first.here(crash_first.first_wrong(sweep))
    for listing in crash_view.listings(sweep):
        yield f"\n{_title(listing)}", ""
        for row in listing.rows:
            if row.follows_gap:
                yield "        ...", "dim"
            yield f"{_number(row, line if listing.role == role else 0)}  {_source(row)}".rstrip(), ""
            yield from ((f"         {cost}", tone) for cost, tone in _costs(row))


def pictures(sweep: Sweep) -> Iterator[Line]:
    """The grid of depth 2 and the graph of depth `all`, where there are any."""
    if grid := crashgrid.text(sweep):
        yield "\nFirst crash, then second crash", ""
        yield grid, ""
    if sweep.closure is not None:
        yield "\nThe durable states that crashes can reach", ""
        yield crashgraph.text(sweep.closure), ""


def _title(listing: Listing) -> str:
    unswept = "" if listing.is_swept else " (not crashed at this depth)"
    return visible(f"{listing.role.capitalize()}: {listing.function} in {listing.file}{unswept}")


def _number(row: Row, here: int) -> str:
    return f"{'>' if row.line and row.line == here else ' '}{row.line or '':>5}"


def _source(row: Row) -> str:
    return row.text if row.line else f"(outside these lines: {row.text})"


def _costs(row: Row) -> list[Line]:
    return [
        (
            f"{''.join(sign.symbol for sign in one.signs)} {one.label}: {crash_outcomes.ends(one.results)}",
            one.tone,
        )
        for one in row.stretches
    ]


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
