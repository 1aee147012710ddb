"""The timeline says what the rows say: where the kill fell, what stood at each look, in picture and words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from labkit.boundaries import Boundary
from labkit.grading.stage import Stage
from labkit.harness.trials import Crash, run_trial
from labkit.ui import story, timeline
from labkit.ui.story import Story

SVG = "{http://www.w3.org/2000/svg}"


def told(model: Stage, folder: Path, run: str = "killed", crash: Crash | None = None) -> Story:
    scenario, own = model.runs[run]
    return story.tell(run_trial(scenario, crash or own, folder, model.judge), model.boundaries)


KILLED = """\
worker: first run
  worker: 1 effect.requested
  worker: 2 effect.inserted
  worker: 3 effect.committed
  payments: charge 4,000 USD cents, order-1001:charge
  worker: SIGKILL
at the kill: payments 1 effect, journal 0 checkpoints
worker: resume, new process
  journal: checkpoint: charge
  worker: exit code 0, said "already_committed"
at the end: payments 1 effect, journal 1 checkpoint"""

NEW_KEY = """\
worker: first run
  worker: 1 effect.requested
  worker: 2 effect.inserted
  worker: 3 effect.committed
  payments: charge 4,000 USD cents, order-1001:charge
  worker: SIGKILL
at the kill: payments 1 effect, journal 0 checkpoints
worker: resume, new process
  payments: charge 4,000 USD cents, order-1001:charge:retry-2
  journal: checkpoint: charge
  worker: exit code 0, said "committed"
at the end: payments 2 effects, journal 1 checkpoint"""

UNINTERRUPTED = """\
worker: first run
  worker: 1 effect.requested
  worker: 2 effect.inserted
  worker: 3 effect.committed
  payments: charge 4,000 USD cents, order-1001:charge
  worker: 4 checkpoint.recorded
  journal: checkpoint: charge
  worker: exit code 0, said "committed"
at the end: payments 1 effect, journal 1 checkpoint"""

INSERTED = """\
worker: first run
  worker: 1 effect.requested
  worker: 2 effect.inserted
  payments: inserted, never committed
  worker: SIGKILL
at the kill: payments 0 effects, journal 0 checkpoints
worker: resume, new process
  payments: charge 4,000 USD cents, order-1001:charge
  journal: checkpoint: charge
  worker: exit code 0, said "committed"
at the end: payments 1 effect, journal 1 checkpoint"""

REVOKED = """\
worker: first run
  worker: 1 effect.requested
  worker: SIGKILL
at the kill: payments 0 effects, journal 0 checkpoints
  payments: revoke mandate
worker: resume, new process
  payments: refused: mandate_revoked
  worker: exit code 0, said "mandate_revoked"
at the end: payments 0 effects, journal 0 checkpoints"""

LEFT = """\
worker: first run
  worker: 1 effect.requested
  worker: 2 effect.inserted
  worker: 3 effect.committed
  payments: charge 4,000 USD cents, order-1001:charge
  worker: exit code 86
at the kill: payments 1 effect, journal 0 checkpoints
worker: resume, new process
  journal: checkpoint: charge
  worker: exit code 0, said "already_committed"
worker: resume, new process
  worker: exit code 0, said "already_committed"
at the end: payments 1 effect, journal 1 checkpoint"""

STORIES = {
    "killed after the commit": ("killed", None, KILLED),
    "resumed under a new key": ("new_key", None, NEW_KEY),
    "not killed": ("uninterrupted", None, UNINTERRUPTED),
    "killed inside the transaction": ("killed", Crash(Boundary.EFFECT_INSERTED), INSERTED),
    "revoked in between": (
        "killed",
        Crash(Boundary.BEFORE_EFFECT, interventions=("revoke_mandate",)),
        REVOKED,
    ),
    "left by exit code 86, resumed twice": (
        "killed",
        Crash(Boundary.EFFECT_COMMITTED, stop="exit_86", resumes=2),
        LEFT,
    ),
}


@pytest.mark.parametrize(("run", "crash", "text"), STORIES.values(), ids=STORIES.keys())
def test_a_story_says_what_the_rows_say(
    model: Stage, tmp_path: Path, run: str, crash: Crash | None, text: str
) -> None:
    assert timeline.as_text(told(model, tmp_path / "world", run, crash)) == text


def test_two_trials_make_the_same_bytes(model: Stage, tmp_path: Path) -> None:
    """Process ids, times and folders differ; nothing of them is in the picture."""

    first, second = told(model, tmp_path / "one"), told(model, tmp_path / "two")

    assert timeline.as_svg(first) == timeline.as_svg(second)
    assert str(tmp_path) not in timeline.as_svg(first)


def test_the_picture_has_its_text_twin_and_needs_nothing_from_outside(model: Stage, tmp_path: Path) -> None:
    svg = timeline.as_svg(told(model, tmp_path / "world"))
    picture = ET.fromstring(svg)

    assert picture.get("role") == "img"
    assert [title.text for title in picture.findall(f"{SVG}title")] == [KILLED]
    assert "http" not in svg.replace("http://www.w3.org/", "")
    assert "<script" not in svg
    assert "<style" not in svg  # a style element would reach beyond the picture, into the page


def texts(picture: ET.Element) -> list[tuple[str, float, float]]:
    return [
        ("".join(node.itertext()), float(node.get("x", 0)), float(node.get("y", 0)))
        for node in picture.iter(f"{SVG}text")
    ]


def test_the_kill_stands_after_the_boundary_where_it_fell(model: Stage, tmp_path: Path) -> None:
    killed = told(model, tmp_path / "world")
    picture = ET.fromstring(timeline.as_svg(killed))
    lane = timeline.y_of(killed, "worker")
    places = {text: x for text, x, y in texts(picture) if abs(y - lane) < 40}

    assert places["1"] < places["2"] < places["3"] < places["SIGKILL"] < places["exit code 0"]
    assert "4" not in places


def test_everything_lies_within_the_picture(model: Stage, tmp_path: Path) -> None:
    picture = ET.fromstring(timeline.as_svg(told(model, tmp_path / "world", "new_key")))
    width, height = float(picture.get("width", 0)), float(picture.get("height", 0))

    assert all(0 <= x <= width and 8 <= y <= height for _, x, y in texts(picture))


def test_text_takes_the_colour_of_the_page(model: Stage, tmp_path: Path) -> None:
    """A fixed dark or light text colour would vanish in one of the two themes."""

    picture = ET.fromstring(timeline.as_svg(told(model, tmp_path / "world")))
    fills = {node.get("fill") for node in picture.iter(f"{SVG}text")}

    assert fills == {"currentColor", "#fff", "#e0612a"}  # white only stands on a coloured disc
