"""The crash map: the right lines are marked, every form tells the whole story, and nothing escapes into it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from rich.console import Console

from labkit.grading.sweeping import Request, sweep
from labkit.harness import sweep_files
from labkit.harness.pool import Pool
from labkit.harness.workers import mutant_new_key, payment
from labkit.observations import CrashPoint, PointResult, Sweep, Verdict
from labkit.ui import crash_first, crash_headline, crash_view, crashgrid, crashmap

PAYMENT = f"{payment.__file__}:pay"
NEW_KEY = f"{mutant_new_key.__file__}:resume"
SWEPT = ("right", "wrong", "wrong_twice", "wrong_for_ever")


@pytest.fixture(scope="module")
def right(pool: Pool) -> Sweep:
    return sweep(Request(PAYMENT, resume="resume"), pool)


@pytest.fixture(scope="module")
def wrong(pool: Pool) -> Sweep:
    """The resume pays again under a new key."""
    return sweep(Request(PAYMENT, resume=NEW_KEY), pool)


@pytest.fixture(scope="module")
def wrong_twice(pool: Pool) -> Sweep:
    """The same at depth 2, boundaries only."""
    return sweep(Request(PAYMENT, resume=NEW_KEY, points=("boundary",), depth="2"), pool)


@pytest.fixture(scope="module")
def wrong_for_ever(pool: Pool) -> Sweep:
    """The same at depth `all`."""
    return sweep(Request(PAYMENT, resume=NEW_KEY, points=("boundary",), depth="all"), pool)


@pytest.fixture
def swept(request: pytest.FixtureRequest) -> Sweep:
    """One of the sweeps above, by its name."""
    found: Sweep = request.getfixturevalue(request.param)
    return found


def line_of(file: str, text: str) -> int:
    """The number of the one line that holds a text."""
    [number] = [n for n, line in enumerate(Path(file).read_text().splitlines(), 1) if text in line]
    return number


def tones(value: Sweep, role: str) -> dict[int, str]:
    """What a listing marks, by line."""
    [found] = [one for one in crash_view.listings(value) if one.role == role]
    return {row.line: row.look for row in found.rows if row.look is not None}


# --- the right lines -----------------------------------------------------------------------


def test_a_wrong_handler_is_marked_from_its_commit_to_its_checkpoint(wrong: Sweep) -> None:
    """The call line holds both: right up to the COMMIT, wrong after it."""
    call = line_of(payment.__file__, "world.payments.submit")
    checkpoint = line_of(payment.__file__, "result.receipt, world.now_ms")
    announced = line_of(payment.__file__, "Boundary.CHECKPOINTED")
    marked = tones(wrong, "first run")

    assert marked[call] == marked[checkpoint] == "fail"
    assert marked[call - 1] == marked[announced] == "pass"
    assert {line for line, look in marked.items() if look == "fail"} <= set(range(call, announced))
    first = crash_first.first_wrong(wrong)
    assert first is not None
    assert (first.line, first.file) == (call, "payment.py")
    assert first.source.strip() == "result = world.payments.submit(operation.operation_id, operation.action)"
    sides = [(sign.name, label.split(" ", 1)[1]) for sign, label in crash_first.around(first)][2:4]
    assert sides == [("exactly_one", "COMMIT"), ("duplicate", "effect.committed")]


def test_a_right_handler_has_no_marked_line_and_nothing_to_look_at(right: Sweep) -> None:
    """And the first sentence says so."""
    assert set(tones(right, "first run").values()) == {"pass"}
    assert crash_first.first_wrong(right) is None
    assert crashmap.text(right).startswith(f"✓ It passes at all {len(right.points)} crash points\n")
    assert "lk-fail" not in body_of(crashmap.html_fragment(right))


def test_neighbours_that_end_alike_are_one_stretch(wrong: Sweep) -> None:
    """The whole run reads as three: right, wrong, right again."""
    run = crash_view.stretches(crash_view.marks_at(0, wrong))

    assert [stretch.tone for stretch in run] == ["pass", "fail", "pass"]
    assert sum(len(stretch.marks) for stretch in run) == len(wrong.points)


def test_at_depth_two_the_line_in_the_recovery_is_the_one_to_look_at(wrong_twice: Sweep) -> None:
    """The first crash falls before the payment, where one crash alone does no harm."""
    first = crash_first.first_wrong(wrong_twice)
    assert first is not None
    call = line_of(mutant_new_key.__file__, "world.payments.submit")

    assert (first.file, first.line) == ("mutant_new_key.py", call)
    assert crash_first.here(first) == ("recovery", call)
    assert tones(wrong_twice, "recovery")[call] == "fail"
    assert tones(wrong_twice, "first run")[line_of(payment.__file__, "Boundary.BEFORE_EFFECT")] == "mixed"


def test_the_grid_joins_first_crashes_that_end_alike_and_loses_none(wrong_twice: Sweep) -> None:
    """A row for each durable state that the first crash can leave."""
    rows = crashgrid.rows(wrong_twice)
    pairs = [result for row in rows for stretch in row.stretches for result in stretch.results]

    assert len(rows) == 3  # nothing, paid, paid and recorded
    assert sorted(pairs, key=wrong_twice.results.index) == list(wrong_twice.results)
    assert [{stretch.tone for stretch in row.stretches} for row in rows] == [
        {"pass", "fail"},
        {"fail"},
        {"pass"},
    ]
    symbols = re.findall(r">([✓D]+)</text>", crashgrid.svg(wrong_twice))
    assert sum(map(len, symbols)) == sum(len(stretch.marks) for row in rows for stretch in row.stretches)


# --- every form tells all of it ------------------------------------------------------------


class Words(HTMLParser):
    """Collects what a page shows, and what it says on hovering."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)
        self.found += [value or "" for name, value in attrs if name == "title"]

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self.inside and data.strip():
            self.found.append(data)


def body_of(page: str) -> str:
    return re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


# What the page says of itself.
OWN_WORDS = re.compile(
    r"promised|recorded|happened|Again:|First here:|:|in|outside these lines:|This sweep is not sound:"
    r"|First crash by second crash|A row is a crash in the first run.*|.*Open a line for .*"
    r"|.*A box is a state of the stores.*|Shortest way to a wrong end:|Left behind.*|without any crash|[✓DL!✗]+"
)
# What it composes from numbers, verdicts and columns, all of which the other tests of this section hold the text to.
COMPOSED = re.compile(
    r"\S+ \w+ at [\d ,;-]+( then [\d ,;-]+)*|\w+, \d+ \u00d7 .*|first .*, then .*|state \d+ to state \d+|[\d ,-]+"
    r"|[\d ,-]+ on lines? .*|and \d+ more|with --at for each of: .*|.*, then .*|[✓D]+ [\d ,-]+ .*"
)


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("swept", SWEPT, indirect=True)
def test_the_text_holds_everything_that_the_page_shows(swept: Sweep) -> None:
    """Whoever cannot see the picture misses nothing, hover texts included."""
    text = squeezed(crashmap.text(swept))
    pieces = {
        squeezed(line) for piece in Words(crashmap.html_fragment(swept)).found for line in piece.splitlines()
    }
    own = {piece for piece in pieces if OWN_WORDS.fullmatch(piece) or COMPOSED.fullmatch(piece)}
    commands = {piece for piece in pieces if piece.startswith(("lab sweep", "again lab sweep"))}

    missing = [piece for piece in pieces - own - commands if piece and piece not in text]

    assert missing == []
    assert len(pieces - own) > 20
    stems = {re.sub(r" --at .*", " --at", command.removeprefix("again ")) for command in commands}
    assert [stem for stem in stems if stem not in text] == []


def schedules_in(place: str) -> set[tuple[int, ...]]:
    """The schedules that `1-4 then 7, 9; 21 then 1` stands for."""
    found: set[tuple[int, ...]] = set()
    for part in place.split("; "):
        steps = []
        for step in part.split(" then "):
            spans = [span.split("-") for span in step.split(", ")]
            steps.append([n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)])
        found |= set(product(*steps))
    return found


@pytest.mark.parametrize("swept", SWEPT, indirect=True)
def test_the_text_says_of_every_schedule_how_it_ends_and_why(swept: Sweep) -> None:
    """Promised, recorded, happened, the reason and a command stand below the numbers of those that share them."""
    said: dict[tuple[int, ...], tuple[str, str, str]] = {}
    section = crashmap.text(swept).partition("\nWhat each crash costs")[2]
    for found in re.finditer(
        r"^\S+ (\w+) at ([^\n]+)\n  promised  no answer[^\n]*\n  recorded  checkpoints 1, charge EFFECT_COMMITTED\n"
        r"  happened  (\d) [^\n]+\n  because   ([^\n]+)\n  again     lab sweep ",
        section,
        re.MULTILINE,
    ):
        for schedule in schedules_in(found[2]):
            assert schedule not in said
            said[schedule] = (found[1], found[3], found[4])

    assert said == {
        tuple(point.number for point in one.schedule): (
            one.names[0],
            str(one.happened["charge order-1001"]),
            one.verdicts[0].because,
        )
        for one in swept.results
    }


@pytest.mark.parametrize("swept", SWEPT, indirect=True)
def test_the_text_says_what_each_number_stands_for(swept: Sweep) -> None:
    """Every crash point by its label, and that a kill is no power cut."""
    text = crashmap.text(swept)

    assert [
        point.label for result in swept.results for point in result.schedule if point.label not in text
    ] == []
    assert "It does not show power loss" in text


@pytest.mark.parametrize("width", [80, 160])
def test_the_terminal_shows_the_source_and_where_it_goes_wrong(wrong: Sweep, width: int) -> None:
    """In the same words at any width, with an arrow for those who see no colour."""
    out = StringIO()
    Console(file=out, width=width).print(crashmap.renderable(wrong))
    shown = squeezed(out.getvalue())

    assert shown.startswith("✗ It goes wrong at ")
    call = line_of(payment.__file__, "world.payments.submit")
    assert f"> {call} result = world.payments.submit(" in shown
    assert "D 12 duplicate" in shown
    assert "an exactly-once guarantee." in shown


def test_other_faults_are_called_by_their_names(pool: Pool) -> None:
    """A reply that gets lost falls on a call, and nobody crashes."""
    text = crashmap.text(sweep(Request(PAYMENT, resume=NEW_KEY, fault="lost_reply"), pool))

    assert text.startswith("✗ It goes wrong at 1 of 1 crash points, first on line ")
    assert "First here: a lost reply at 1 reply to submit, on line " in text
    assert "a crash" not in text
    assert (
        "the effect done and its reply lost once at every point, then resumed to the end; 1 replies lost"
        in text
    )


def test_a_sweep_that_is_not_sound_says_so_first(right: Sweep) -> None:
    """Every point passes, and yet it is no pass: in words, by its tone and by its symbol."""
    unsound = replace(right, problems=("two fault-free runs took different paths",))

    assert crashmap.text(unsound).startswith(
        "! Nothing is shown yet: two fault-free runs took different paths\n"
    )
    assert '<h2 class="lk-unjudged"><span class="lk-mark lk-unjudged">!</span>' in crashmap.html_fragment(
        unsound
    )


def test_what_was_not_judged_is_neither_a_pass_nor_a_failure(right: Sweep) -> None:
    """It has a sign of its own, and the map does not pass."""
    flaky = replace(right.results[4], outcome="flaky", explanation="exactly_one at first, then lost")
    mixed = replace(right, results=(*right.results[:4], flaky, *right.results[5:]))
    text = crashmap.text(mixed)

    assert text.startswith(f"! 1 of {len(right.points)} crash points could not be judged\n")
    assert "f 1 flaky: repeats end differently" in text
    assert "because   payments: one effect; journal: recorded; exactly_one at first, then lost" in text


def test_a_crash_that_was_spared_is_no_kill_neither_by_itself_nor_as_the_first_of_a_pair(
    right: Sweep,
) -> None:
    """Point 2 is known from points 1 and 3, and a drawn pair begins there."""
    first, second, third, *_ = right.results
    spared = replace(second, is_killed=False, same_bytes_as=(1,))
    pair = replace(second, schedule=(*second.schedule, *third.schedule), same_bytes_as=())
    value = replace(right, points=right.points[:3], results=(first, spared, third, pair))

    assert (
        "killed (SIGKILL) once at 2 of 3 points that stand for all, and twice at 1 drawn pair of points, then "
    ) in crash_headline.done(value)
    assert "; 3 kills." in crash_headline.done(value)


def test_a_handler_that_fails_without_any_crash_is_told_apart(wrong: Sweep) -> None:
    """No line is to blame for that: the first thing to read says where to begin."""
    lost = replace(wrong.control, verdicts=(Verdict("lost", False, "payments: no effect"),))

    text = crashmap.text(replace(wrong, control=lost))

    assert text.startswith("✗ It goes wrong without any crash\n")
    assert "First here: without any crash\n" in text


# --- nothing gets in, nothing goes out ------------------------------------------------------

HOSTILE = """def pay(world):
    x = "</code></pre></details><script>alert(1)</script><img src=https://example.org/x onerror=alert(2)>"
    y = '{{ 7 * 7 }} {% raw %} & < > " \\x1b]0;title\\x07'
    z = "\N{RIGHT-TO-LEFT OVERRIDE}\x1b[31m\x00"
"""


def test_a_line_never_wraps_between_its_indent_and_its_text() -> None:
    line = "        world.journal.refuse(operation.operation_id, result.status)"

    assert str(crashmap.breakable(line)) == (
        '<span class="lk-begin">        world.journal.refuse(</span><wbr>operation.operation_id, result.status)'
    )
    assert crashmap.hang(line) == 12


@pytest.fixture
def hostile(wrong: Sweep) -> Sweep:
    """A sweep in which every text tries to become markup, a template, or a terminal's order."""
    bad = '<b onclick="x()">{{ 7 * 7 }}</b>\x1b[2J]]>'

    def spoilt(result: PointResult) -> PointResult:
        points = tuple(
            CrashPoint(p.number, "line", f"{p.number} {bad}", 2 + n % 3)
            for n, p in enumerate(result.schedule)
        )
        verdicts = tuple(Verdict(v.name, v.passed, bad) for v in result.verdicts)
        return PointResult(points, result.outcome, verdicts, (bad, None), {bad: bad}, {bad: 2}, bad, bad)

    return Sweep(
        scenario=bad, fault="kill", depth="1", first=(f"/{bad}.py", "pay"), resume=(f"/{bad}.py", bad),
        sources={f"/{bad}.py": HOSTILE}, points=tuple(spoilt(r).schedule[0] for r in wrong.results),
        control=spoilt(wrong.control), results=tuple(map(spoilt, wrong.results)), problems=(bad,),
    )  # fmt: skip


def test_hostile_text_is_shown_and_not_obeyed(hostile: Sweep) -> None:
    """Source, labels, verdicts, results and names: no tag but ours, no template, no terminal order."""
    page = Words(crashmap.html_page(hostile))

    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "div", "h2", "h3", "span", "p", "code", "b",
        "ol", "ul", "li", "details", "summary", "wbr",
    }  # fmt: skip
    assert [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)] == []
    assert "<script>alert(1)</script>" in "".join(page.found)  # it may wrap after the bracket
    assert any("{{ 7 * 7 }}" in piece for piece in page.found)
    for form in (crashmap.html_page(hostile), crashmap.text(hostile)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", form)


def test_hostile_text_cannot_steer_the_terminal(hostile: Sweep) -> None:
    """Neither by escape sequences nor by rich's own markup."""
    out = StringIO()
    Console(file=out, width=200).print(crashmap.renderable(hostile))

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", out.getvalue())
    assert "\\u001b[2J" in out.getvalue()


@pytest.mark.parametrize("swept", SWEPT, indirect=True)
def test_the_page_refers_to_nothing_outside_itself(swept: Sweep) -> None:
    """No address to load from: neither in an attribute nor in a style sheet; no script at all."""
    page = crashmap.html_page(swept)
    tags = Words(page).tags

    assert [
        tag for tag, _ in tags if tag in ("script", "link", "img", "iframe", "object", "image", "use")
    ] == []
    assert [attrs for _, attrs in tags if {"src", "href", "xlink:href"} & set(attrs)] == []
    assert not re.search(r"url\(|@import|javascript:", page)
    assert set(re.findall(r"https?://[^\"]*", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


@pytest.mark.parametrize("swept", SWEPT, indirect=True)
def test_two_drawings_are_the_same_bytes_in_any_process(swept: Sweep, tmp_path: Path) -> None:
    """Read back from a file by another interpreter, with other hash seeds."""
    sweep_files.write(tmp_path / "sweep.json", swept)
    program = (
        "import sys; from pathlib import Path; from labkit.harness import sweep_files; from labkit.ui import crashmap;"
        "s = sweep_files.read(Path(sys.argv[1]));"
        "sys.stdout.buffer.write((crashmap.html_page(s) + crashmap.text(s)).encode())"
    )

    forms = {
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / "sweep.json"],
            capture_output=True, check=True, timeout=60, env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip

    assert forms == {(crashmap.html_page(swept) + crashmap.text(swept)).encode()}


def test_the_page_and_the_text_name_files_without_their_folders(wrong: Sweep) -> None:
    """A cell's output is the same on every machine; only the command says where the file is."""
    bare = replace(wrong, results=tuple(replace(one, command="lab") for one in wrong.results))

    assert str(Path(payment.__file__).parent) not in crashmap.html_fragment(bare)
    assert str(Path(payment.__file__).parent) not in crashmap.text(bare)


def test_a_sweep_without_source_is_drawn_all_the_same(wrong: Sweep) -> None:
    """As of a command line: the points stand where a line would."""
    text = crashmap.text(replace(wrong, sources={}))

    assert "(outside these lines: " in text
    assert "D 21-32: duplicate, 2 \u00d7 charge order-1001" in text


# --- in a browser ---------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chromium_shows_it_without_asking_anybody(
    scheme: str, wrong: Sweep, tmp_path: Path, system_program: Callable[..., str]
) -> None:
    """It fits 1280 pixels, follows the reader's scheme, and opens by keyboard."""
    page_file = tmp_path / "map.html"
    page_file.write_text(crashmap.html_page(wrong), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=system_program("chromium", "chromium-browser", "google-chrome"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1200}, color_scheme=scheme)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        width = page.evaluate("document.documentElement.scrollWidth")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("details.lk-here > summary").focus()
        page.keyboard.press("Enter")
        opened = page.locator("details.lk-here .lk-panel").inner_text()
        browser.close()

    assert asked == [page_file.as_uri()]
    assert width == 1280
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 20, 24)"}[scheme]
    assert "2 \u00d7 charge order-1001" in opened
    assert "--at 21" in opened
