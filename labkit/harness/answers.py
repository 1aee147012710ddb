"""The answers of warm processes to schedules: waited for with patience, repeated where they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from labkit.harness.pool import Pool

Answer = dict[str, Any]  # a `PointResult` as plain JSON
Schedule = tuple[int, ...]  # the numbers of its crash points
Points = list[dict[str, Any]]
Task = tuple[Any, ...]
Take = Callable[[Schedule, list[Answer]], list[Answer]]
MOST_TIMEOUTS = 6  # after so many runs past their deadline the rest is not attempted, and says so


def as_it_is(_schedule: Schedule, answers: list[Answer]) -> list[Answer]:
    """What is made of answers that need nothing done at once: nothing."""
    return answers


def patiently(
    pool: Pool, tasks: Mapping[Schedule, Task], take: Take = as_it_is
) -> Iterator[tuple[Schedule, list[Answer]]]:
    """The answers up to the one with which too many runs have passed their deadline or a limit.

    They come in the order of the tasks, so that the last one is the same however many are at work;
    `take` has each as soon as it is there.
    """
    schedules, timeouts, due = list(tasks), 0, 0
    early: dict[int, list[Answer]] = {}
    with closing(pool.run(list(tasks.values()))) as found:
        for index, answers in found:
            early[index] = take(schedules[index], answers)
            while due in early:
                in_turn = early.pop(due)
                yield schedules[due], in_turn
                due += 1
                timeouts += any(answer["outcome"] in ("timed_out", "killed_by_limit") for answer in in_turn)
                if timeouts >= MOST_TIMEOUTS:
                    return  # what the pool still runs is ended


def repeated(
    pool: Pool, tasks: Mapping[Schedule, Task], answers: Mapping[Schedule, Answer]
) -> dict[Schedule, Answer]:
    """The answers after failing ones have been run once more: one that ends differently is flaky."""
    failing = [schedule for schedule in sorted(answers) if fails(answers[schedule])]
    found = dict(answers)
    for index, [again] in pool.run([tasks[schedule] for schedule in failing]):
        before = answers[failing[index]]
        if names(again) != names(before):
            why = f"{', '.join(names(before))} at first, then {what_came_of(again)}"
            found[failing[index]] = before | {"outcome": "flaky", "explanation": why}
    return found


def fails(answer: Answer) -> bool:
    """Whether an answer was judged and some verdict does not pass."""
    return answer["outcome"] == "judged" and not all(verdict["passed"] for verdict in answer["verdicts"])


def what_came_of(answer: Answer) -> str:
    """The verdicts in one phrase, or why there is none."""
    if answer["outcome"] == "judged":
        return ", ".join(names(answer))
    return f"{answer['outcome']} ({answer['explanation']})"


def names(answer: Answer) -> list[str]:
    """The names of an answer's verdicts."""
    return [verdict["name"] for verdict in answer["verdicts"]]


def not_attempted(point: dict[str, Any]) -> Answer:
    """A point that was given up on."""
    return {
        "schedule": [point], "outcome": "not_attempted", "verdicts": [], "promised": [], "recorded": {},
        "happened": {}, "explanation": f"{MOST_TIMEOUTS} points before it passed their deadline or a limit",
        "recovery_worked": False,
    }  # fmt: skip
