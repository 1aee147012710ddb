"""Reports for a CI: each schedule is a test case, nothing that was not judged passes, any text is safe in them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from labkit.grading.sweeping import Request, sweep
from labkit.harness.pool import Pool
from labkit.harness.workers import mutant_new_key, payment
from labkit.observations import PointResult, Sweep, Verdict
from labkit.ui import crashmap
from labkit.ui.sweep_reports import junit, markdown

PAYMENT = f"{payment.__file__}:pay"
NEW_KEY = f"{mutant_new_key.__file__}:resume"


@pytest.fixture(scope="module")
def right(pool: Pool) -> Sweep:
    return sweep(Request(PAYMENT, resume="resume"), pool)


@pytest.fixture(scope="module")
def wrong(pool: Pool) -> Sweep:
    return sweep(Request(PAYMENT, resume=NEW_KEY), pool)


@pytest.fixture(scope="module")
def explored(pool: Pool) -> Sweep:
    return sweep(Request(PAYMENT, resume=NEW_KEY, points=("boundary",), depth="all"), pool)


def suite_of(value: Sweep) -> ElementTree.Element:
    [suite] = ElementTree.fromstring(junit(value).encode())
    return suite


# --- JUnit ----------------------------------------------------------------------------------


def test_each_schedule_is_a_test_case_with_the_line_that_it_fell_on(wrong: Sweep) -> None:
    """The failing ones are those that do not pass, with the three columns and the command to see it again."""
    suite = suite_of(wrong)
    cases = suite.findall("testcase")

    assert [case.get("name") for case in cases] == [
        "no crash", *(result.schedule[0].label for result in wrong.results)
    ]  # fmt: skip
    for case, result in zip(cases[1:], wrong.results, strict=True):
        failure = case.find("failure")
        assert (failure is None) == result.passed
        assert case.get("line") == (str(result.schedule[0].line) if result.schedule[0].line else None)
        assert case.get("file") == payment.__file__
        if failure is not None:
            assert failure.get("type") == "duplicate"
            assert result.verdicts[0].because in (failure.get("message") or "")
            assert result.command in (failure.text or "")
            assert "happened  2 " in (failure.text or "")
    failures = sum(not result.passed for result in wrong.results)
    assert failures > 0
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        str(len(wrong.results) + 1), str(failures), "0"
    )  # fmt: skip


def test_a_right_handler_has_no_failure(right: Sweep) -> None:
    """And as many cases as the sweep had schedules, and the run without a fault."""
    suite = suite_of(right)

    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert suite.get("tests") == str(len(right.results) + 1)


@pytest.mark.parametrize("outcome", ["flaky", "timed_out", "not_killed", "not_attempted", "infra_error"])
def test_what_was_not_judged_is_an_error_and_no_skip(outcome: str, right: Sweep) -> None:
    """A CI shows skipped cases in green."""
    spoilt = replace(right.results[2], outcome=outcome, explanation="it went its own way")
    suite = suite_of(replace(right, results=(*right.results[:2], spoilt, *right.results[3:])))

    [error] = suite.iter("error")
    assert (error.get("type"), suite.get("errors"), suite.get("failures")) == (outcome, "1", "0")
    assert "it went its own way" in (error.get("message") or "")
    assert list(suite.iter("skipped")) == []


def test_a_problem_of_the_sweep_itself_is_an_error(right: Sweep) -> None:
    """However many points pass."""
    suite = suite_of(replace(right, problems=("no crash left work for the recovery",)))

    [error] = suite.iter("error")
    assert error.get("message") == "no crash left work for the recovery"


def test_any_number_of_crashes_is_a_case_of_its_own(explored: Sweep) -> None:
    """Depth `all`: it fails for a wrong end and for an open graph, and passes for a closed one."""
    assert explored.closure is not None
    closed = {**explored.closure, "closed": True, "bad_finals": [], "schedule": None}

    def ends(value: Sweep) -> bool:
        [case] = [
            one for one in suite_of(value).iter("testcase") if one.get("name") == "any number of crashes"
        ]
        return case.find("failure") is None

    assert not ends(explored)
    assert not ends(replace(explored, closure={**closed, "closed": False}))
    assert ends(replace(explored, closure=closed))


# --- Markdown -------------------------------------------------------------------------------


def html_of(value: Sweep) -> str:
    """The summary as a CI's page shows it: GitHub's Markdown lets HTML through as this renderer does."""
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown(value)))


def test_the_summary_opens_with_the_verdict_and_the_first_wrong_crash(wrong: Sweep) -> None:
    """Then the tally, the lines, and the whole map for those who open it."""
    page = unescape(html_of(wrong))

    assert page.startswith("<h2>✗ It goes wrong at 12 of 36 crash points, first on line ")
    order = [page.index(text) for text in ("First here:", "it happened more than once", "The crash map")]
    assert order == sorted(order)
    rows = re.findall(
        r"<tr>\n<td>(payment\.py:\d+)</td>\n<td>(.*?)</td>\n<td>(.*?)</td>\n<td>(.*?)</td>", page
    )
    lines = lines_in(payment.__file__)
    assert rows
    for place, source, _, cost in rows:
        assert lines[int(place.partition(":")[2]) - 1].strip() == source
        assert cost == "duplicate, 2 \u00d7 charge order-1001"
    assert crashmap.text(wrong) in page
    assert "It does not show power loss" in page


def lines_in(file: str) -> list[str]:
    return Path(file).read_text(encoding="utf-8").splitlines()


def test_a_right_handlers_summary_blames_no_line(right: Sweep) -> None:
    """One sentence, the tally, the map."""
    page = html_of(right)

    assert page.startswith(f"<h2>✓ It passes at all {len(right.points)} crash points</h2>")
    assert "First here:" not in page
    assert "<th>source</th>" not in page


def test_a_wrong_end_of_several_crashes_stands_in_the_summary(explored: Sweep) -> None:
    """Where every single crash passes, the shortest schedule is the news."""
    single = replace(explored, results=tuple(result for result in explored.results if result.passed))
    page = unescape(html_of(single))

    assert page.startswith("<h2>✗ It goes wrong after 1 crash</h2>")
    assert "Shortest way to a wrong end:" in page
    assert explored.closure is not None
    assert f"again  {explored.closure['command']}" in page


# --- any text is safe -----------------------------------------------------------------------

BAD = "<script>alert(1)</script> | `` **b** ](x) ]]> ```\n# head\x1b[2J\x00\ud800 <!-- &amp;"


def spoilt(value: Sweep) -> Sweep:
    """A sweep whose every free text is hostile."""

    def worse(result: PointResult) -> PointResult:
        points = tuple(replace(p, label=f"{p.number} {BAD}", kind="boundary") for p in result.schedule)
        verdicts = tuple(Verdict(v.name, v.passed, BAD) for v in result.verdicts)
        return replace(result, schedule=points, verdicts=verdicts, promised=(BAD,), recorded={BAD: BAD},
                       happened={BAD: 2}, command=BAD, explanation=BAD)  # fmt: skip

    sources = {file: text.replace("result =", f"result = {BAD!r} or") for file, text in value.sources.items()}
    return replace(value, scenario=BAD, sources=sources, control=worse(value.control), problems=(BAD,),
                   results=tuple(map(worse, value.results)))  # fmt: skip


def test_hostile_text_does_not_break_the_xml(wrong: Sweep) -> None:
    """Neither markup, nor the end of a CDATA section, nor a character that XML cannot hold."""
    suite = suite_of(spoilt(wrong))

    assert suite.get("failures") == "12"
    assert {one.tag for one in suite.iter()} == {
        "testsuite", "properties", "property", "testcase", "failure", "error"
    }  # fmt: skip
    assert any("<script>alert(1)</script>" in (one.get("message") or "") for one in suite.iter("failure"))


def test_hostile_text_does_not_break_the_page(wrong: Sweep) -> None:
    """No tag, table cell, fence, heading or comment but ours."""
    page = html_of(spoilt(wrong))

    assert {found.lower() for found in re.findall(r"<([a-zA-Z]\w*)", page)} <= {
        "h2", "p", "code", "pre", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "em",
    }  # fmt: skip
    assert page.count("<h2>") == 1
    assert "<h1>" not in page
    assert "<!--" not in page
    assert page.count("<strong>") == 2
    assert {row.count("<td>") for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)} == {0, 4}
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800]", page)


def test_two_reports_are_the_same_bytes(wrong: Sweep) -> None:
    """Whatever the order in which the sources were read."""
    turned = replace(wrong, sources=dict(reversed(wrong.sources.items())))

    assert (junit(turned), markdown(turned)) == (junit(wrong), markdown(wrong))
