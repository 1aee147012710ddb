"""A sweep for machines and CI pages: JUnit XML and a Markdown summary."""

from __future__ import annotations

from xml.etree import ElementTree

from labkit.observations import PointResult, Sweep
from labkit.ui import crash_view


def junit(sweep: Sweep) -> str:
    """One test case a crash schedule, so that a CI shows which one fails."""
    suite = ElementTree.Element("testsuite", name=sweep.scenario)
    for result in (sweep.control, *sweep.results):
        case = ElementTree.SubElement(suite, "testcase", name=place_of(result))
        if not result.passed:
            ElementTree.SubElement(case, "failure", message=", ".join(result.names))
    return ElementTree.tostring(suite, encoding="unicode")


def place_of(result: PointResult) -> str:
    """Where it crashed, in words."""
    return ", then ".join(point.label for point in result.schedule) or "not killed"


def markdown(sweep: Sweep) -> str:
    """A summary for a CI page."""
    numbers = crash_view.ranges(r.schedule[0].number for r in sweep.results if r.schedule and not r.passed)
    return f"## {sweep.scenario}: {'passed' if sweep.passed else 'failed'}\n\nfails at: {numbers or 'no point'}\n"
