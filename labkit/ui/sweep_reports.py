"""A sweep for a CI: JUnit XML with a test case a schedule, and a Markdown summary for its page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from xml.etree import ElementTree

from labkit.harness.packets import SHOWS
from labkit.observations import PointResult, Sweep
from labkit.ui import (
    crash_first,
    crash_headline,
    crash_outcomes,
    crash_view,
    crash_way,
    crashgraph,
    crashmap_text,
)
from labkit.ui.crash_outcomes import Outcome, in_lines, labels
from labkit.ui.signs import visible

MOST_LINES = 40  # of what goes wrong, in the Markdown summary; the map below it has them all


def junit(sweep: Sweep) -> str:
    """One test case a crash schedule.  What could not be judged is an error and never a skip."""
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name=visible(f"crash sweep: {sweep.scenario}"))
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(sweep).items():
        ElementTree.SubElement(properties, "property", name=name, value=visible(value))
    for result in sweep.all_results:
        _case(suite, sweep, result)
    for problem in sweep.problems:
        _sweeps_own_case(suite, sweep, "the sweep is sound", visible(problem), "error")
    if sweep.closure is not None:
        closed = sweep.closure["closed"] and not sweep.closure["bad_finals"]
        wrong = "" if closed else crashgraph.text(sweep.closure)
        _sweeps_own_case(suite, sweep, "any number of crashes", wrong, "failure")
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        suite.set(name, str(len(list(suite.iter(tag)))))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _properties(sweep: Sweep) -> dict[str, str]:
    return {
        "headline": crash_headline.headline(sweep),
        "workers": crash_headline.workers(sweep),
        "how": crash_headline.done(sweep),
        "fault": sweep.fault,
        "depth": sweep.depth,
        "shows": SHOWS,
    }


def _case(suite: ElementTree.Element, sweep: Sweep, result: PointResult) -> None:
    file, function = sweep.first if len(result.schedule) < 2 else sweep.resume
    case = _new_case(suite, file, function, labels(result))
    if result.schedule and result.schedule[-1].line:
        case.set("line", str(result.schedule[-1].line))
    if result.passed:
        return
    outcome = Outcome((result,))
    tag = "failure" if outcome.signs[0].tone == "fail" else "error"
    found = ElementTree.SubElement(case, tag, type=visible(outcome.names))
    found.set("message", visible(f"{outcome.names}: {outcome.because}"))
    found.text = in_lines(outcome)


def _sweeps_own_case(suite: ElementTree.Element, sweep: Sweep, name: str, wrong: str, tag: str) -> None:
    case = _new_case(suite, *sweep.first, name)
    if wrong:
        found = ElementTree.SubElement(case, tag, type=name, message=wrong.partition("\n")[0])
        found.text = wrong


def _new_case(suite: ElementTree.Element, file: str, function: str, name: str) -> ElementTree.Element:
    classname = visible(f"{PurePath(file).name}:{function}")
    return ElementTree.SubElement(suite, "testcase", classname=classname, name=name, file=visible(file))


# --- Markdown -------------------------------------------------------------------------------


def markdown(sweep: Sweep) -> str:
    """A summary for a CI page: the verdict, the first wrong crash, the lines that go wrong, the map."""
    tone = crash_headline.tone(sweep)
    parts = [
        f"## {crashmap_text.MARKS[tone]} {_escaped(crash_headline.headline(sweep))}",
        f"{_escaped(sweep.scenario)}: {_code(crash_headline.workers(sweep))}",
        *(f"**This sweep is not sound:** {_escaped(visible(problem))}" for problem in sweep.problems),
        *_first(sweep),
        _tally(sweep),
        *_wrong_lines(sweep),
        _escaped(f"{crash_headline.done(sweep)}."),
        f"<details><summary>The crash map</summary>\n\n{_fenced(crashmap_text.plain(sweep))}\n\n</details>",
        f"*{_escaped(SHOWS)}*",
    ]
    return "\n\n".join(parts) + "\n"


def _first(sweep: Sweep) -> list[str]:
    first, end = crash_first.first_wrong(sweep), crash_way.wrong_end(sweep)
    if first is not None:
        source = f"{first.line}  {first.source}\n" if first.source else ""
        text = _fenced(f"{source}{in_lines(first.outcome)}")
        return [f"**First here:** {_escaped(crash_first.where(first))}", text]
    if end is not None:
        source = f"{end.line}  {end.source}\n" if end.source else ""
        text = _fenced(f"{source}{end.because}\nleft behind  {end.left}\nagain  {visible(end.command)}")
        return [f"**Shortest way to a wrong end:** {_escaped(end.where)}", text]
    return []


def _tally(sweep: Sweep) -> str:
    rows = [(sign.symbol, str(count), sign.name, sign.meaning) for sign, count in crash_outcomes.tally(sweep)]
    control = Outcome((sweep.control,))
    rows.append((control.signs[0].symbol, "", control.names, "without any crash"))
    return _table(("", "schedules", "end in", ""), rows)


def _wrong_lines(sweep: Sweep) -> list[str]:
    rows = [
        (f"{listing.file}:{row.line}", row.text.strip(), stretch.label, crash_outcomes.ends(stretch.results))
        for listing in crash_view.listings(sweep)
        for row in listing.rows
        for stretch in row.stretches
        if stretch.tone != "pass"
    ]
    more = [f"and {len(rows) - MOST_LINES} more in the map"] if len(rows) > MOST_LINES else []
    heads = ("line", "source", "crash at", "costs")
    return [_table(heads, rows[:MOST_LINES]), *more] if rows else []


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *(tuple(_escaped(cell) for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, in a table too."""
    return re.sub(r"[!-+/<-@\[-`{-~]", lambda found: f"&#{ord(found[0])};", " ".join(visible(text).split()))


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _fenced(text: str) -> str:
    """A block of code whose fence is longer than any in it."""
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
