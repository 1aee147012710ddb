"""A kill at a numbered crash point: along one scale, and never more durable than the rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.grading import engine
from labkit.grading.stage import Stage, load_stage
from labkit.harness.workers import mutant_new_key, pay_and_tell
from labkit.learning import katas
from labkit.ui import point_story, timeline

ROOT = Path(__file__).parents[2]

PAID_TWICE = """\
worker: first run
  worker: 1 effect.requested
  worker: 2 effect.inserted
  payments: charge 4,000 USD cents, order-1001:charge
  worker: 3 effect.committed
  worker: SIGKILL, before 22 line 16
at the kill: payments 1 effect, journal 0 checkpoints
worker: resume, new process
  payments: charge 4,000 USD cents, order-1001:charge:retry-2
  journal: checkpoint: charge
  worker: exit code 0, said "committed"
worker: again
  worker: exit code 0, said "nothing to do"
at the end: payments 2 effects, journal 1 checkpoint"""

INTENT_UNDONE = """\
worker: first run
  payments: charge 4,000 USD cents, order-1001:charge
  worker: 1 effect.committed
  journal: checkpoint: charge
  worker: 2 checkpoint.recorded
  journal: written, never committed
  worker: SIGKILL, before 63 COMMIT
at the kill: payments 1 effect, messages 0 effects, journal 1 checkpoint
worker: resume, new process
  messages: notify, order-1001:notify
  journal: checkpoint: notify
  worker: exit code 0, said "told"
at the end: payments 1 effect, messages 1 effect, journal 2 checkpoints"""

BOTH_PAID = """\
worker: first run
  worker: SIGKILL, before 12 line 16
at the kill: payments 0 effects, journal 0 checkpoints
  journal: lose journal
worker: resume, new process
second worker: on order-1002, new process
  payments: charge 4,000 USD cents, order-1002:charge (second worker)
  journal: checkpoint: charge (second worker)
  payments: charge 4,000 USD cents, order-1001:charge
  journal: checkpoint: charge
  worker: exit code 0, said "committed"
worker: again
  worker: exit code 0, said "EFFECT_COMMITTED"
at the end: payments 2 effects, journal 2 checkpoints"""

ONE_REFUSED = """\
worker: first run
  worker: 2 effect.inserted
  payments: charge 4,000 USD cents, order-1001:charge
  journal: checkpoint: charge
  worker: 4 checkpoint.recorded
  worker: exit code 0, said "committed"
after the first run: payments 1 effect, journal 1 checkpoint
worker: resume, new process
second worker: on order-1002, new process
  journal: refused: budget_action_limit (second worker)
  worker: exit code 0, said "EFFECT_COMMITTED"
at the end: payments 1 effect, journal 1 checkpoint"""


def test_a_kill_between_two_commits(model: Stage) -> None:
    trial = engine.trial(model, Path(mutant_new_key.__file__), [22])
    told = point_story.tell(trial, model.boundaries)

    assert timeline.as_text(told) == PAID_TWICE
    assert timeline.as_svg(told).startswith("<svg ")


def test_a_kill_moves_and_all_else_stays(model: Stage) -> None:
    """The next point lies further right, whatever it is, and so does a kill there."""
    points = engine.trial(model, Path(mutant_new_key.__file__), []).points
    layout = point_story.laid_out(points, model.boundaries)
    kills = [layout.kill_at(point.number) for point in points]

    assert layout.slots == tuple(sorted(set(layout.slots)))
    assert kills == sorted(set(kills))
    assert [number for number in layout.numbers if number] == [1, 2, 3, 4]


def test_a_kill_inside_the_journals_transaction() -> None:
    """k17: what it had written is undone; the checkpoint before it stands."""
    stage = load_stage(katas.load(ROOT / "katas" / "k17_tell_the_customer"))
    trial = engine.trial(stage, Path(pay_and_tell.__file__), [63])

    assert timeline.as_text(point_story.tell(trial, stage.boundaries)) == INTENT_UNDONE


@pytest.mark.parametrize(("schedule", "text"), [([12], BOTH_PAID), ([], ONE_REFUSED)])
def test_a_second_worker_stands_in_a_lane_of_its_own(schedule: list[int], text: str) -> None:
    """k14: what the rival did is not told as the resume's doing, and each process has its bar."""
    stage = load_stage(katas.load(ROOT / "katas" / "k14_the_allowance"))
    answer = stage.kata.folder / "mutants" / "checks_outside_the_transaction.py"
    told = point_story.tell(engine.trial(stage, answer, schedule), stage.boundaries)
    bars = {mark.lane for mark in told.marks if mark.kind == "start"}

    assert timeline.as_text(told) == text
    assert told.lanes == ("payments", "worker", "second worker", "journal")
    assert told.ledgers == ("payments",)
    assert bars == {"worker", "second worker"}
    assert ">second worker</text>" in timeline.as_svg(told)
