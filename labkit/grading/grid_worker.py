"""What a Dask worker is asked to do: plain dictionaries and bytes both ways, nothing of ours pickled.

Runs in the worker's own process, which only hands a task to a process that judges (`judge_process`),
waits, and ends that process as soon as nobody wants the result any more.
"""

from __future__ import annotations

import json
import select
import threading
import time
from typing import Any

from labkit.errors import LabError
from labkit.grading import confinement, grounds
from labkit.grading.judging import MOST_TASK_S, MOST_TRIES
from labkit.harness.pool import WarmProcess
from labkit.learning import katas

CHILD = "labkit.grading.judge_process"
LOOK_EVERY_S = 0.2
_mine = threading.local()  # a judging process for each of the worker's threads


def describe(sandbox: str, slugs: list[str]) -> str:
    """What this worker stands on, as JSON: its ground, and the sandbox that it would use; or its problem."""
    try:
        level = confinement.choose(sandbox)
        found = {
            "ground": grounds.ground([katas.find(slug) for slug in slugs]),
            "level": confinement.named(level),
        }
    except LabError as error:
        found = {"problem": error.message}
    return json.dumps(found)


def judge(asked: bytes) -> bytes:
    """Judge one task in this thread's judging process; the result as JSON."""
    for _ in range(MOST_TRIES):
        child = getattr(_mine, "child", None)
        if child is None or not child.is_alive():
            child = _mine.child = WarmProcess(CHILD)
        answer = _answer_of(child, json.loads(asked))
        if answer is not None:
            return answer.encode()
        child.close()
        _mine.child = None
        if is_unwanted():
            return _no_score("nobody wants it any more")
    return _no_score("the process that judges has died at it")


def _answer_of(child: WarmProcess, asked: dict[str, Any]) -> str | None:
    """The process's answer; None where it has died, takes too long, or nobody wants the answer any more."""
    child.send(0, "judge", [asked])
    ends_s = time.monotonic() + MOST_TASK_S
    while time.monotonic() < ends_s and not is_unwanted():
        if select.select([child.socket], [], [], LOOK_EVERY_S)[0]:
            answer = child.receive()
            if answer is None:
                return None
            if answer:
                return str(answer["answer"])
    return None


def is_unwanted() -> bool:
    """Whether the grader has gone or has been interrupted, or this worker is about to leave.

    Dask cannot end a thread: it marks the task and waits for its end.
    """
    from distributed import get_worker
    from distributed.core import Status

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled" or worker.status not in (Status.running, Status.paused)


def _no_score(why: str) -> bytes:
    return json.dumps({"outcome": "infra_error", "why": why, "sweep": None}).encode()
