"""Every crash point of a run: killed at each, and recovered from whatever these crashes have left.

Each kill is a run of its own.  Crashes that leave the same bytes are recovered from once: a recovery is a
process that starts from them, its chance and clock those of its run number, so it does the same each time.
Other faults leave somebody alive, and two workers side by side are no function of the bytes that they
find: there every point has a recovery of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool

Answer = dict[str, Any]  # a `PointResult` as plain JSON
Task = tuple[Any, ...]
Progress = Callable[[int, int], None]
MOST_TIMEOUTS = 6  # after so many runs past their deadline the rest is not attempted, and says so


@dataclass(slots=True)
class Alike:
    """Crashes that have left the same bytes: the numbers of their points, and what the first of them left."""

    first: int
    left: dict[str, Any]
    numbers: list[int]

    def add(self, number: int, left: dict[str, Any]) -> None:
        """One more of them.  Only the folder of the first is kept."""
        self.numbers.append(number)
        if number < self.first:
            self.first, self.left, left = number, left, self.left
        shutil.rmtree(left["folder"])


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of every point, by its number, and what the kills have left where that is shared."""

    answers: dict[int, Answer]
    groups: list[Alike]

    def in_order(self, points: list[dict[str, Any]]) -> list[Answer]:
        """One answer for each point."""
        return [self.answers.get(point["number"]) or not_attempted(point) for point in points]


def once(job: SweepJob, pool: Pool, points: list[dict[str, Any]], progress: Progress) -> Answered:
    """Depth 1; what fails is repeated and must fail alike."""
    if job.fault == "kill" and not job.rival:
        return killed_then_recovered(job.as_json, pool, points, progress)
    return Answered(each_by_itself(job.as_json, pool, points, progress), [])


def twice(job: SweepJob, pool: Pool, points: list[dict[str, Any]], progress: Progress) -> list[Answer]:
    """Depth 2: every pair, in the order of the points."""
    given = job.as_json
    tasks = [("kill_twice", given, point) for point in points]
    found: dict[int, list[Answer]] = {}
    for index, answers in patiently(pool.run(tasks)):
        found[index] = answers
        progress(len(found), len(tasks))
    missing = [not_attempted(points[index]) for index in range(len(tasks)) if index not in found]
    return [answer for index in sorted(found) for answer in found[index]] + missing


def each_by_itself(
    given: dict[str, Any], pool: Pool, points: list[dict[str, Any]], progress: Progress
) -> dict[int, Answer]:
    """Answers by the number of their point, each from a fault and a recovery of its own."""
    tasks: dict[int, Task] = {point["number"]: ("kill_once", given, point) for point in points}
    answers: dict[int, Answer] = {}
    for index, [answer] in patiently(pool.run(list(tasks.values()))):
        answers[points[index]["number"]] = answer
        progress(len(answers), len(points))
    return repeated(pool, tasks, answers)


def killed_then_recovered(
    given: dict[str, Any], pool: Pool, points: list[dict[str, Any]], progress: Progress
) -> Answered:
    """Killed at each point, recovered once from the same bytes."""
    unjudged, groups = killed_at_each(given, pool, points, progress)
    by_number = {point["number"]: point for point in points}
    recoveries = [("recover", given, group.left, by_number[group.first]) for group in groups]
    done, first_answers = len(unjudged), {}
    for index, [answer] in patiently(pool.run(recoveries)):
        first_answers[groups[index].first] = answer
        done += len(groups[index].numbers)
        progress(len(points) + done, 2 * len(points))
    tasks: dict[int, Task] = {group.first: ("kill_once", given, by_number[group.first]) for group in groups}
    judged = repeated(pool, tasks, first_answers)
    shared = {
        number: judged[group.first] | {"schedule": [by_number[number]], "same_bytes_as": group.first}
        for group in groups
        if group.first in judged
        for number in group.numbers
        if number != group.first
    }
    return Answered(unjudged | judged | shared, groups)


def killed_at_each(
    given: dict[str, Any], pool: Pool, points: list[dict[str, Any]], progress: Progress
) -> tuple[dict[int, Answer], list[Alike]]:
    """Kill at each point: what could not be judged, and what the others have left, in the order of the points."""
    unjudged: dict[int, Answer] = {}
    groups: dict[str, Alike] = {}
    kills = [("kill", given, point) for point in points]
    for done, (index, [answer]) in enumerate(patiently(pool.run(kills)), start=1):
        number = points[index]["number"]
        if "bytes" not in answer:
            unjudged[number] = answer
        elif answer["bytes"] in groups:
            groups[answer["bytes"]].add(number, answer)
        else:
            groups[answer["bytes"]] = Alike(number, answer, [number])
        progress(done, 2 * len(points))
    return unjudged, sorted(groups.values(), key=lambda group: group.first)


def patiently(found: Iterator[tuple[int, list[Answer]]]) -> Iterator[tuple[int, list[Answer]]]:
    """The answers up to the one with which too many runs have passed their deadline or a limit."""
    timeouts = 0
    with closing(found):  # type: ignore[type-var]  # the pool's generator: what it still runs is ended
        for index, answers in found:
            yield index, answers
            timeouts += any(answer["outcome"] in ("timed_out", "killed_by_limit") for answer in answers)
            if timeouts >= MOST_TIMEOUTS:
                return


def repeated(pool: Pool, tasks: Mapping[int, Task], answers: Mapping[int, Answer]) -> dict[int, Answer]:
    """The answers after failing ones have been run once more: one that ends differently is flaky."""
    failing = [number for number in sorted(answers) if fails(answers[number])]
    found = dict(answers)
    for index, [again] in pool.run([tasks[number] for number in failing]):
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
