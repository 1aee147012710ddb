"""Pairs of crashes that were drawn for one learner: the first run is killed, then its recovery.

Depth 1 is known to everybody: each point once, and the recovery is left in peace.  A handler that is
right in the first recovery alone shows itself in a second one.
"""

from __future__ import annotations

from typing import Any

from labkit.harness import every_point
from labkit.harness.every_point import Answer, Answered, Task
from labkit.harness.jobs import DURABLE, SweepJob
from labkit.harness.pool import Pool


def pairs(job: SweepJob, pool: Pool, points: list[dict[str, Any]], found: Answered) -> list[Answer]:
    """What each of the job's drawn pairs of crashes costs; none where depth 1 could not be judged throughout.

    A pair is two numbers: each chooses one of the boundaries and statements that its run passes.
    Numbers that choose the same pair count once.  One that fails is repeated and must fail alike.

    Raises:
        HarnessError: the infrastructure broke; nothing is scored.
    """
    if any(answer["outcome"] != "judged" for answer in found.in_order(points)):
        return []
    tasks = tasks_of(job, points, found)
    answers = {index: answer for index, [answer] in pool.run(tasks)}
    answers = every_point.repeated(pool, dict(enumerate(tasks)), answers)
    return [answers[index] for index in sorted(answers)]


def tasks_of(job: SweepJob, points: list[dict[str, Any]], found: Answered) -> list[Task]:
    """The drawn pairs as tasks.  The first crash is one of depth 1's, whose recovery has told its points."""
    given, tasks = job.as_json, {}
    firsts = [point for point in points if point["kind"] in DURABLE]
    for first_number, second_number in job.draws if firsts else ():
        first = firsts[first_number % len(firsts)]
        [group] = [group for group in found.groups if first["number"] in group.numbers]
        recovery = found.answers[group.first]
        seconds = [point for point in recovery["points"] if point["kind"] in DURABLE]
        if seconds:
            second = seconds[second_number % len(seconds)]
            task = ("kill_recovery", given, group.left, first, second, recovery["witness"])
            tasks[first["number"], second["number"]] = task
    return list(tasks.values())
