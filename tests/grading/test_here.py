"""Grading on this machine, by processes that judge: one that dies costs no other answer anything."""

from __future__ import annotations

import os
import selectors
import signal
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from labkit.errors import Conflict
from labkit.grading import confinement, here
from labkit.grading.confinement import Level
from labkit.grading.here import Here, Judges
from labkit.grading.judging import NOTHING, Task
from labkit.harness.pool import WarmProcess
from labkit.learning import katas

KATA = katas.find("k03")
TASK = Task(KATA.slug, NOTHING.format(function=KATA.exercise))
LEVEL = confinement.choose("auto")
pytestmark = pytest.mark.sandbox


class Stopped(Judges):
    """Processes that are stopped as soon as they are there."""

    most_task_s = 0.1

    def start(self, tasks: int) -> None:
        super().start(tasks)
        for judge in self._warm:
            os.kill(judge.pid, signal.SIGSTOP)

    def _replace(self, dead: WarmProcess, selector: selectors.BaseSelector) -> WarmProcess:
        fresh = super()._replace(dead, selector)
        os.kill(fresh.pid, signal.SIGSTOP)
        return fresh


class Dying(Judges):
    """Processes whose program ends at once."""

    module = "token"


def test_a_process_that_was_killed_is_replaced_and_its_answer_judged() -> None:
    with here.here(LEVEL, 1, [KATA]) as place:
        place.scratch.mkdir()
        place.scratch.chmod(0o711)
        [judge] = place.judges._warm
        os.kill(judge.pid, signal.SIGKILL)

        [(_, ran)] = place.judge([TASK])

        assert ran.outcome == "judged"
        assert [path.name for path in place.scratch.iterdir()] == [f"judge-{place.judges._warm[0].pid}"]
    assert not place.scratch.exists()


@pytest.mark.parametrize("kind", [Dying, Stopped])
def test_an_answer_at_which_it_dies_or_hangs_again_has_no_score_and_stops_no_other(
    kind: type[Judges],
) -> None:
    with kind(1) as judges:
        place = Here(judges, LEVEL, [KATA], Path("/nowhere"))

        found = list(place.judge([TASK, TASK]))

    assert [(number, ran.outcome) for number, ran in found] == [(0, "infra_error"), (1, "infra_error")]
    assert {ran.why for _, ran in found} == {"the process that judges has died at it, 2 times"}


def is_running(pid: str) -> bool:
    """Whether a process is there, and not only its exit code."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_process_that_is_ended_while_it_cleans_up_leaves_nothing() -> None:
    """Whoever asked has died: its socket is closed, and Linux sends the signal."""
    with here.here(LEVEL, 1, [KATA]) as place:
        place.scratch.mkdir()
        place.scratch.chmod(0o711)
        list(place.judge([TASK]))
        [judge] = place.judges._warm

        [warm] = Path(f"/proc/{judge.pid}/task/{judge.pid}/children").read_text().split()

        judge.socket.shutdown(socket.SHUT_WR)
        while is_running(warm):  # it is ended first
            pass
        os.kill(judge.pid, signal.SIGTERM)
        judge._process.wait(20)

        assert list(place.scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("level", "user_id", "at_a_time"), [("rlimits", 1000, 1), ("rlimits", 0, 2), ("bwrap", 1000, 2)]
)
def test_answers_that_run_as_one_user_are_judged_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, level: Level, user_id: int, at_a_time: int
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: user_id)

    with here.here(level, 2, [KATA]) as place:
        assert place.judges.jobs == at_a_time


def test_a_kata_that_is_changed_meanwhile_stops_the_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    with here.here(LEVEL, 1, [KATA]) as place:
        monkeypatch.setattr("labkit.grading.grounds.digest_of", lambda _kata: "of the kata as it was")

        with pytest.raises(Conflict, match="k03_missing_ack was changed while it was graded"):
            list(place.judge([TASK]))
