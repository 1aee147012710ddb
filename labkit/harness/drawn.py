"""Pairs of crashes that were drawn for one learner: the first run is killed, then its recovery.

Depth 1 is known to everybody: each point once, and the recovery is left in peace.  A handler that is
right in the first recovery alone shows itself in a second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from labkit.harness import sweeps
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool
from labkit.harness.tasks import DURABLE
from labkit.observations import PointResult, Sweep


def pairs(
    job: SweepJob, pool: Pool, swept: Sweep, draws: Sequence[tuple[int, int]]
) -> tuple[PointResult, ...]:
    """What each drawn pair of crashes costs; nothing where depth 1 could not be judged throughout.

    A pair is two numbers: each chooses one of the boundaries and statements that its run passes.
    Numbers that choose the same pair count once.  One that fails is repeated and must fail alike.

    Raises:
        HarnessError: the infrastructure broke; nothing is scored.
    """
    firsts = [point.number for point in swept.points if point.kind in DURABLE]
    judged = all(result.outcome == "judged" for result in (swept.control, *swept.results))
    if not (draws and firsts and judged and swept.results):
        return ()
    points = [asdict(point) for point in swept.points]
    tasks = [
        ("kill_twice", job.as_json, firsts[first % len(firsts)], points, second) for first, second in draws
    ]
    found: dict[int, list[dict[str, Any]]] = dict(pool.run(tasks))
    found = {index: answers for index, answers in found.items() if answers}  # a recovery without any point
    sweeps.repeat_failures(pool, tasks, found)
    results = [sweeps.result_of(job, found[index][0]) for index in sorted(found)]
    return tuple({result.schedule: result for result in results}.values())
