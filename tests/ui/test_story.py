"""A flow with two effects: each has its lane and its places, and the second kill is not drawn at the first's."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from labkit.boundaries import Boundary
from labkit.grading.stage import Stage, load_stage
from labkit.harness.trials import Crash, run_trial
from labkit.learning import katas
from labkit.ui import formatters, story, timeline
from labkit.ui.seen import Seen
from labkit.ui.story import Story

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
WITH_INSERTS = (
    Boundary.EFFECT_INSERTED,
    Boundary.CHECKPOINTED,
    Boundary.EFFECT_INSERTED,
    Boundary.CHECKPOINTED,
)


@pytest.fixture(scope="module")
def stage() -> Stage:
    """The kata with a payment and a notice."""
    return load_stage(katas.load(ROOT / "katas" / "k17_tell_the_customer"))


def told(stage: Stage, folder: Path, crash: Crash, boundaries: tuple[Boundary, ...] | None = None) -> Story:
    """The story of the right worker, met by this crash."""
    scenario, _ = stage.runs["killed"]
    return story.tell(run_trial(scenario, crash, folder, stage.judge), boundaries or stage.boundaries)


AFTER = """\
at the kill: payments 1 effect, messages {notices}, journal 1 checkpoint
worker: resume, new process
{resumed}  worker: exit code 0, said "told"
at the end: payments 1 effect, messages 1 effect, journal 2 checkpoints"""

AT_THE_FLAG = """\
worker: first run
  worker: 1 effect.committed
  payments: charge 4,000 USD cents, order-1001:charge
  worker: 2 checkpoint.recorded
  journal: checkpoint: charge
  worker: SIGKILL
""" + AFTER.format(
    notices="0 effects",
    resumed="  messages: notify, order-1001:notify\n  journal: checkpoint: notify\n",
)

AT_THE_NOTICE = """\
worker: first run
  worker: 1 effect.committed
  payments: charge 4,000 USD cents, order-1001:charge
  worker: 2 checkpoint.recorded
  journal: checkpoint: charge
  worker: 3 effect.committed
  messages: notify, order-1001:notify
  worker: SIGKILL
""" + AFTER.format(notices="1 effect", resumed="  journal: checkpoint: notify\n")


def test_a_kill_at_the_first_passing_is_drawn_there(stage: Stage, tmp_path: Path) -> None:
    """The checkpoint is the payment's; nothing of the notice stands before the cut."""

    assert timeline.as_text(told(stage, tmp_path / "w", Crash(Boundary.CHECKPOINTED))) == AT_THE_FLAG


def test_a_kill_at_the_second_passing_is_drawn_there(stage: Stage, tmp_path: Path) -> None:
    """The same boundary as the payment's, one effect later, in the messaging provider's lane."""

    crash = Crash(Boundary.EFFECT_COMMITTED, occurrence=2)

    assert timeline.as_text(told(stage, tmp_path / "w", crash)) == AT_THE_NOTICE


@pytest.mark.parametrize(("occurrence", "lane"), [(1, "payments"), (2, "messages")])
def test_what_was_never_committed_stands_with_its_own_provider(
    stage: Stage, tmp_path: Path, occurrence: int, lane: str
) -> None:
    crash = Crash(Boundary.EFFECT_INSERTED, occurrence=occurrence)

    found = told(stage, tmp_path / "w", crash, WITH_INSERTS)

    assert [mark.lane for mark in found.marks if mark.kind == "undone"] == [lane]


def test_a_third_passing_that_never_comes_is_not_judged(stage: Stage, tmp_path: Path) -> None:
    """A kill that did not happen is said to be none, with the passing that was asked for."""

    scenario, _ = stage.runs["killed"]

    seen = run_trial(scenario, Crash(Boundary.EFFECT_COMMITTED, occurrence=3), tmp_path / "w", stage.judge)

    assert seen.outcome == "not_killed"
    assert seen.explanation.startswith("the first run was to stop at effect.committed 3; it reached no such")


def test_the_legend_numbers_what_is_passed_twice(stage: Stage, tmp_path: Path) -> None:
    picture = ET.fromstring(timeline.as_svg(told(stage, tmp_path / "w", Crash(Boundary.CHECKPOINTED))))
    texts = [text.text for text in picture.iter(f"{SVG}text")]

    assert [text for text in texts if text and "." in text and " " not in text.removesuffix(" (2)")] == [
        "effect.committed", "checkpoint.recorded", "effect.committed (2)", "checkpoint.recorded (2)"
    ]  # fmt: skip
    assert {"payments", "messages", "worker", "journal"} <= set(texts)


def test_the_rows_of_a_notice_show_what_it_said(stage: Stage, tmp_path: Path) -> None:
    """Where no money moves, the table shows the details and no amount of nothing."""

    seen = stage.run("uninterrupted", tmp_path / "w")
    text = formatters.seen(Seen("uninterrupted", seen, stage.boundaries))["text/plain"]

    assert '{"text":"We received 4000 USD cents for order-1001.","to":"ann@example.org"}' in text
    assert "XXX" not in text
    assert "4000      USD" in text
