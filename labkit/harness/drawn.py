"""Pairs of crashes that were drawn for one learner: the first run is killed, then its recovery.

Depth 1 is known to everybody: each point once, and the recovery is left in peace.  A handler that is
right in the first recovery alone shows itself in a second one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.harness import every_point
from labkit.harness.alike import Alike
from labkit.harness.answers import Answer, Points, Schedule, Task
from labkit.harness.every_point import Answered, Steps
from labkit.harness.jobs import DURABLE, SweepJob
from labkit.harness.pool import Pool


def pairs(job: SweepJob, pool: Pool, points: Points, found: Answered) -> list[Answer]:
    """What each of the job's drawn pairs of crashes costs; none where depth 1 could not be judged throughout.

    A pair is two numbers: each chooses one of the boundaries and statements that its run passes.
    Numbers that choose the same pair count once.  One that fails is repeated and must fail alike.

    Raises:
        HarnessError: the infrastructure broke; nothing is scored.
    """
    if not job.draws or any(answer["outcome"] != "judged" for answer in found.in_order(points)):
        return []
    kills = kills_of(job, points, found)
    steps = Steps(every_point.quietly)
    crashes = every_point.killed(pool, kills, steps)
    drawn = every_point.repeatedly(replace(job, draws=()), pool, kills, crashes, steps)
    return [drawn.answers[schedule] for schedule in kills]


def kills_of(job: SweepJob, points: Points, found: Answered) -> dict[Schedule, Task]:
    """The drawn pairs.  The first crash is one of depth 1's, whose recovery has told its own points."""
    given = job.as_json
    kills: dict[Schedule, Task] = {}
    firsts = [point for point in points if point["kind"] in DURABLE]
    for first_number, second_number in job.draws if firsts else ():
        first = firsts[first_number % len(firsts)]
        group = group_of(first, found.groups)
        recovery = found.answers[group.first]
        seconds = [point for point in recovery["points"] if point["kind"] in DURABLE]
        if seconds:
            second = seconds[second_number % len(seconds)]
            left = group.left | {"met": [first]}
            kills[first["number"], second["number"]] = ("kill", given, left, second, recovery["witness"])
    return kills


def group_of(point: dict[str, Any], groups: list[Alike]) -> Alike:
    """The kills that have left the same bytes as the one at this point."""
    return next(group for group in groups if [point] in [group.left["met"], *group.others, *group.known])
