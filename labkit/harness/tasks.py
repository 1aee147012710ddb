"""What a warm process can be asked to do.  Each task takes and returns plain JSON."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from labkit.harness import remains, resuming, schedules, snapshots, unseen, witness
from labkit.harness.columns import last_words
from labkit.harness.edges import run_from
from labkit.harness.jobs import SweepJob, clone
from labkit.harness.ran import Ran
from labkit.observations import CrashPoint, ProcessRun, Snapshot, TrialOutcome


@contextmanager
def world_of(job: SweepJob, template: str | None = None) -> Iterator[Path]:
    """A clone of the job's world, gone afterwards."""
    folder = clone(template or job.template, job.scratch)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
        "points": [point_json(point) for point in ran.points],
        "returncode": ran.run.returncode,
        "timed_out": ran.run.timed_out,
        "problem": ran.problem,
        "last_words": last_words([ran.run]),
        "unseen": [] if job.fault == "lost_reply" else written,
        "started": any("started" in message for message in ran.messages),
        "sql_chance": any("sql_chance" in message for message in ran.messages),
        "witness": witness.expected(ran.claims, ran.witness),
    }


def how_it_fell(
    job: SweepJob, ran: Ran, at: int, expected: CrashPoint | None, seen: Mapping[str, Any]
) -> tuple[TrialOutcome, str]:
    """Whether a run met its fault where the fault-free run has this point: by its word, and from outside."""
    outcome, why = schedules.how_it_fell(job, ran, at, expected)
    if outcome == "judged" and (found := witness.contradiction(seen, ran.witness, at)):
        return "tampered", found
    return outcome, why


def kill(job: SweepJob, point: dict[str, Any]) -> list[dict[str, Any]]:
    """The first run is killed at `point`; what it leaves is kept, for `recover`, and the caller removes it.

    `folder` is that world, `bytes` its digest, `run` the killed process.  Where it was not killed there, an
    answer says why instead.
    """
    met = CrashPoint(**point)
    folder = clone(job.template, job.scratch)
    ran = schedules.run_faulty(job, folder, 1, met.number)
    outcome, why = how_it_fell(job, ran, met.number, met, job.witness)
    if outcome != "judged":
        shutil.rmtree(folder)
        return [unjudged([met], outcome, why)]
    left = {"folder": str(folder), "bytes": remains.digest_of(folder), "run": asdict(ran.run)}
    return [{"outcome": outcome, **left}]


def recover(job: SweepJob, left: dict[str, Any], point: dict[str, Any]) -> list[dict[str, Any]]:
    """The workflow is resumed to its end from what a `kill` at `point` has left.

    Where the job has drawn pairs, the first resume's own crash points are told as well.
    """
    with world_of(job, left["folder"]) as folder:
        schedules.intervene(job, folder)
        run, met = ProcessRun(**left["run"]), CrashPoint(**point)
        result = resuming.finish_and_judge(job, folder, [run], [met], counts=bool(job.draws))
    if why := witness.problem_of(result.get("witness", {})):
        return [unjudged([met], "tampered", why)]
    return [result]


def kill_recovery(
    job: SweepJob, left: dict[str, Any], first: dict[str, Any], second: dict[str, Any], seen: dict[str, Any]
) -> list[dict[str, Any]]:
    """The recovery from what a `kill` at `first` has left is killed at `second`, then all is resumed."""
    points = [CrashPoint(**first), CrashPoint(**second)]
    with world_of(job, left["folder"]) as folder:
        schedules.intervene(job, folder)
        ran = schedules.run_faulty(job, folder, 2, points[1].number)
        outcome, why = how_it_fell(job, ran, points[1].number, points[1], seen)
        if outcome != "judged":
            return [unjudged(points, outcome, why)]
        return [resuming.finish_and_judge(job, folder, [ProcessRun(**left["run"]), ran.run], points)]


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


def point_json(point: CrashPoint) -> dict[str, Any]:
    """A crash point as plain JSON."""
    return {"number": point.number, "kind": point.kind, "label": point.label, "line": point.line}


def unjudged(points: list[CrashPoint], outcome: str, why: str) -> dict[str, Any]:
    """A schedule that could not be judged, with the reason."""
    return {
        "schedule": [point_json(point) for point in points], "outcome": outcome, "verdicts": [], "promised": [],
        "returncodes": [], "recorded": {}, "happened": {}, "explanation": why, "recovery_worked": False,
    }  # fmt: skip


TASKS: dict[str, Callable[..., Any]] = {
    "control": control,
    "kill": kill,
    "recover": recover,
    "kill_recovery": kill_recovery,
    "kill_once": kill_once,
    "kill_twice": kill_twice,
    "kill_schedule": kill_schedule,
    "run_from": run_from,
    "kill_each": kill_each,
    "time_run": time_run,
}
