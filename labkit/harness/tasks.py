"""What a warm process can be asked to do.  Each task takes and returns plain JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from labkit.harness import crashes, resuming, schedules, snapshots, unseen, witness
from labkit.harness.columns import last_words
from labkit.harness.crashes import how_it_fell, unjudged, world_of
from labkit.harness.edges import run_from
from labkit.harness.jobs import SweepJob
from labkit.observations import CrashPoint, ProcessRun, Snapshot


def control(job: SweepJob) -> dict[str, Any]:
    """The fault-free run: its crash points, its result, and whether anything escaped the sweep's view."""
    with world_of(job) as folder:
        before = unseen.look(folder)
        ran = schedules.run_faulty(job, folder, 1, 0)
        written = (
            unseen.writes(before, unseen.look(folder), ran.messages) if "statement" in job.sources else []
        )
        result = resuming.finish_and_judge(job, folder, [ran.run], ())
    return {
        **result,
        **resuming.points_of(ran),
        "returncode": ran.run.returncode,
        "timed_out": ran.run.timed_out,
        "problem": ran.problem,
        "last_words": last_words([ran.run]),
        "unseen": [] if job.fault == "lost_reply" else written,
        "started": any("started" in message for message in ran.messages),
        "sql_chance": any("sql_chance" in message for message in ran.messages),
    }


def kill_once(job: SweepJob, point: dict[str, Any]) -> list[dict[str, Any]]:
    """Depth 1 at one point: the first run meets the fault, then the workflow is resumed to its end."""
    with world_of(job) as folder:
        first = CrashPoint(**point)
        ran = schedules.run_faulty(job, folder, 1, first.number)
        outcome, why = how_it_fell(job, ran, first.number, first, job.witness)
        if outcome != "judged":
            return [unjudged([first], outcome, why)]
        schedules.intervene(job, folder)
        runs = [ran.run, ran.takeover] if ran.takeover else [ran.run]
        result = resuming.finish_and_judge(job, folder, runs, [first])
        return [result | {"recovery_worked": result["recovery_worked"] or ran.takeover_worked}]


def kill_twice(job: SweepJob, point: dict[str, Any]) -> list[dict[str, Any]]:
    """Depth 2: after the kill at `point`, the resume is killed at each of its points as well."""
    found: list[dict[str, Any]] = []
    with world_of(job) as crashed:
        first = CrashPoint(**point)
        ran = schedules.run_faulty(job, crashed, 1, first.number)
        outcome, why = how_it_fell(job, ran, first.number, first, job.witness)
        if outcome != "judged":
            return [unjudged([first], outcome, why)]
        schedules.intervene(job, crashed)
        with world_of(job, str(crashed)) as folder:
            whole = schedules.run_faulty(job, folder, 2, 0)
        seen = witness.expected(whole.claims, whole.witness)
        if why := witness.problem_of(seen):
            return [unjudged([first], "tampered", why)]
        for second in whole.points:
            with world_of(job, str(crashed)) as folder:
                again = schedules.run_faulty(job, folder, 2, second.number)
                outcome, why = how_it_fell(job, again, second.number, second, seen)
                if outcome == "judged":
                    found.append(
                        resuming.finish_and_judge(job, folder, [ran.run, again.run], [first, second])
                    )
                else:
                    found.append(unjudged([first, second], outcome, why))
    return found


def kill_schedule(job: SweepJob, numbers: list[int]) -> dict[str, Any]:
    """One schedule of any length: run i is killed at its point `numbers[i - 1]`, then all is resumed.

    Without numbers nothing is killed.  `seen` has every run and, of a labkit world, the rows after the
    first run (copied, so that looking changes nothing) and at the end.
    """
    runs: list[ProcessRun] = []
    met: list[CrashPoint] = []
    interruption: Snapshot | None = None
    with world_of(job) as folder:
        for run_number, at in enumerate(numbers or [0], start=1):
            ran = schedules.run_faulty(job, folder, run_number, at)
            seen = job.witness if run_number == 1 else {}
            outcome, why = how_it_fell(job, ran, at, None, seen) if at else ("judged", "")
            met += [point for point in ran.points if point.number == at]
            runs += [ran.run, ran.takeover] if ran.takeover else [ran.run]
            if outcome != "judged":
                return unjudged(met, outcome, why)
            if run_number == 1 and job.world == "labkit":
                interruption = snapshots.snapshot(folder)
            if run_number == 1 and at:
                schedules.intervene(job, folder)
        result, observation = resuming.finish(job, folder, runs, met)
    return result | {"seen": asdict(replace(observation, interruption=interruption))}


def kill_each(job: SweepJob, points: list[dict[str, Any]]) -> int:
    """Depth 1 at several points, one after the other in this process; how many were done."""
    return sum(len(kill_once(job, point)) for point in points)


def time_run(job: SweepJob) -> float:
    """The seconds of one first run by fork, without faults or crash points."""
    with world_of(job) as folder:
        began = time.perf_counter()
        schedules.run_to_end(job, job.spec(folder, 1), "first")
        return time.perf_counter() - began


TASKS: dict[str, Callable[..., Any]] = {
    "control": control,
    "kill": crashes.kill,
    "recover": crashes.recover,
    "kill_and_recover": crashes.kill_and_recover,
    "kill_once": kill_once,
    "kill_twice": kill_twice,
    "kill_schedule": kill_schedule,
    "run_from": run_from,
    "kill_each": kill_each,
    "time_run": time_run,
}
