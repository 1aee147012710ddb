"""The crash map: a handler's source, and at each line what a crash there costs.

Four forms of the same story, each a pure function of the sweep: a fragment for a notebook, a page that
stands alone, plain text, and a renderable for the terminal.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from markupsafe import Markup, escape
from rich.console import RenderableType

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
    crashmap_text,
    theme,
    unwritten,
)
from labkit.ui.crash_outcomes import Outcome
from labkit.ui.crash_view import Row, Stretch
from labkit.ui.pages import template
from labkit.ui.signs import TONES, visible

BEGIN = re.compile(r"\s*[^\s([]*[([]?")  # a line's indent with the first thing that may stand alone
BRACKET = re.compile(r"(?<=[([])")  # just after an opening one


def html_fragment(sweep: Sweep) -> str:
    """For a notebook's output cell: refers to nothing outside itself, and styles nothing but itself."""
    return template("crashmap.html").render(story(sweep))


def html_page(sweep: Sweep) -> str:
    """A whole page that stands alone."""
    title = f"{crash_headline.headline(sweep)}: {visible(sweep.scenario)}"
    fragment = Markup(html_fragment(sweep))  # noqa: S704  every value in it was escaped by its template
    return template("crashmap_page.html").render(title=title, fragment=fragment)


def text(sweep: Sweep) -> str:
    """In words and symbols, for a log or a reader."""
    return crashmap_text.plain(sweep)


def renderable(sweep: Sweep) -> RenderableType:
    """For a rich console."""
    return crashmap_text.OnTerminal(sweep)


def story(sweep: Sweep) -> dict[str, Any]:
    """What the template shows, by name."""
    first = crash_first.first_wrong(sweep)
    return {
        "style": _style(),
        "tone": crash_headline.tone(sweep),
        "headline": crash_headline.headline(sweep),
        "not_written": Markup(theme.inline(unwritten.line(sweep))),  # noqa: S704  it escapes its text
        "scenario": sweep.scenario,
        "workers": crash_headline.workers(sweep),
        "done": crash_headline.done(sweep),
        "problems": sweep.problems,
        "first": first,
        "where": crash_first.where(first) if first else "",
        "here": crash_first.here(first),
        "at": crash_first.at(first) if first else "",
        "around": crash_first.around(first) if first else [],
        "end": crash_way.wrong_end(sweep),
        "run": crash_view.stretches(crash_view.marks_at(0, sweep)),
        "tally": crash_outcomes.tally(sweep),
        "control": Outcome((sweep.control,)),
        "listings": crash_view.listings(sweep),
        "grid": Markup(crashgrid.svg(sweep)),  # noqa: S704  drawsvg escapes its texts
        "graph": Markup(crashgraph.svg(sweep.closure)) if sweep.closure else "",  # noqa: S704
        "graph_summary": crashgraph.summary(sweep.closure) if sweep.closure else "",
        "shows": SHOWS,
        "words": words,
        "hover": hover,
        "outcomes": worst_first,
        "hang": hang,
        "breakable": breakable,
    }


def worst_first(row: Row) -> list[Outcome]:
    """What lies behind a line, what goes wrong on top."""
    found = crash_outcomes.outcomes(row.results)
    return sorted(found, key=lambda outcome: TONES.index(outcome.signs[0].tone))


def words(stretch: Stretch) -> str:
    """The verdict and the effects of its schedules."""
    return crash_outcomes.ends(stretch.results)


def hover(stretch: Stretch) -> str:
    """What a pointer that rests on it tells: every outcome's columns, and one command each."""
    return "\n\n".join(
        crash_outcomes.in_lines(outcome) for outcome in crash_outcomes.outcomes(stretch.results)
    )


def hang(line: str) -> int:
    """How far the rows below the first of a wrapped line of source are set in, in characters."""
    return len(line) - len(line.lstrip()) + 4


def breakable(line: str) -> Markup:
    """A line of source that wraps at spaces and after an opening bracket, never between indent and text."""
    begin = BEGIN.match(line)
    first = begin[0] if begin else ""
    rest = [escape(part) for part in BRACKET.split(line[len(first) :])]
    return Markup('<span class="lk-begin">{}</span><wbr>').format(first) + Markup("<wbr>").join(rest)


@cache
def _style() -> Markup:
    return Markup(template("crashmap.css").render())  # noqa: S704  our own style sheet, without any value
