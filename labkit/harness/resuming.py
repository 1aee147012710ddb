"""After a crash: resumed to the end, its rows read and judged, and all of it told as plain JSON.

Runs in a warm process of the pool.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.harness import foreign, schedules, snapshots, witness
from labkit.harness.child import ChildSpec
from labkit.harness.columns import happened, last_words, recorded, unreadable
from labkit.harness.jobs import Judge, SweepJob, clone, load_judge
from labkit.harness.ran import Cut, Ran
from labkit.harness.remains import digest_of
from labkit.observations import CrashPoint, Observation, ProcessRun, Snapshot, Verdict


@dataclass(frozen=True, slots=True)
class Recovery:
    """The resumes after the fault, what they left behind, and whether they changed anything at all."""

    runs: list[ProcessRun]
    observation: Observation
    verdicts: tuple[Verdict, ...]
    cut: Cut
    worked: bool
    first: Ran | None


def resume_to_the_end(
    job: SweepJob, folder: Path, faulty: Sequence[ProcessRun], schedule: Sequence[int], counts: bool
) -> Recovery:
    """Resume without faults until the rows pass, a run changes nothing, or the last one is done.

    Where it `counts`, the first resume tells its crash points.
    """
    runs: list[ProcessRun] = []
    first: Ran | None = None
    at_first = before = digest_of(folder)
    while True:
        cut: Cut = None
        spec = job.spec(folder, len(faulty) + len(runs) + 1, 0 if counts and not runs else -1)
        if job.rival and not runs:
            runs += race(job, spec, job.spec(folder, spec.run_number + 1))
        else:
            ran = schedules.run_to_end(job, spec, "resume")
            first = first or ran
            runs.append(ran.run)
            cut = ran.cut
        if runs[-1].timed_out:
            cut = cut or ("timed_out", f"the recovery passed its deadline of {job.deadline_s:g} s")
        observation = observe(job, folder, schedule, (*faulty, *runs), rows_of(job, folder))
        verdicts = judge_of(job)(observation)
        after = digest_of(folder)
        if cut or after == before or is_settled(runs[-1], verdicts) or len(runs) >= job.most_resumes:
            return Recovery(runs, observation, verdicts, cut, after != at_first, first)
        before = after


def race(job: SweepJob, one: ChildSpec, other: ChildSpec) -> list[ProcessRun]:
    """Two resumes side by side, as when a supervisor took a slow worker for a dead one."""
    with job.launcher.start(one) as first, job.launcher.start(other) as second:
        return [first.finish("resume", job.deadline_s), second.finish("rival", job.deadline_s)]


def is_settled(last: ProcessRun, verdicts: Sequence[Verdict]) -> bool:
    """Whether the last resume returned and the rows pass already, so that nobody would resume again."""
    return last.returncode == 0 and bool(verdicts) and all(verdict.passed for verdict in verdicts)


@cache
def _judge(reference: str) -> Judge:
    return load_judge(reference)


def judge_of(job: SweepJob) -> Judge:
    """The judge that the job names."""
    return _judge(job.judge)


def rows_of(job: SweepJob, folder: Path) -> Snapshot:
    """The rows that a judge reads: labkit's own, or the facts that a foreign handler's reader finds."""
    if job.world == "labkit":
        return snapshots.rows_in_place(folder)
    copy = clone(folder, job.scratch)
    try:
        return foreign.facts(job.reader, copy, job.deadline_s)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def observe(
    job: SweepJob, folder: Path, schedule: Sequence[int], runs: tuple[ProcessRun, ...], final: Snapshot
) -> Observation:
    """The observation that a judge is given."""
    fault = f"{job.fault} at {' then '.join(map(str, schedule))}" if schedule else "none"
    return Observation(
        scenario=job.scenario, fault=fault, intents=job.intents, runs=runs, interruption=None, final=final,
        interventions=job.interventions, folder=str(folder),
    )  # fmt: skip


def finish_and_judge(
    job: SweepJob, folder: Path, runs: list[ProcessRun], points: Sequence[CrashPoint], counts: bool = False
) -> dict[str, Any]:
    """Resume to the end, judge, and describe the result as plain JSON (a `PointResult`).

    Where it `counts`, the first resume's `points_of` are there as well, as a `control` has the first run's.
    """
    return finish(job, folder, runs, points, counts)[0]


def finish(
    job: SweepJob, folder: Path, runs: list[ProcessRun], points: Sequence[CrashPoint], counts: bool = False
) -> tuple[dict[str, Any], Observation]:
    """Resume to the end and judge: the result as `finish_and_judge` gives it, and what was judged."""
    recovery = resume_to_the_end(job, folder, runs, [point.number for point in points], counts)
    everything = (*runs, *recovery.runs)
    final = recovery.observation.final
    outcome, explanation = recovery.cut or ("judged", last_words(recovery.runs))
    result = {
        "schedule": [asdict(point) for point in points],
        "outcome": outcome,
        "verdicts": [asdict(verdict) for verdict in recovery.verdicts],
        "promised": [run.result for run in everything],
        "returncodes": [run.returncode for run in everything],
        "recorded": recorded(final),
        "happened": happened(job, final),
        "unreadable": unreadable(final),
        "explanation": explanation,
        "recovery_worked": recovery.worked,
    }
    if counts and recovery.first is not None:
        result |= points_of(recovery.first)
    return result, recovery.observation


def points_of(ran: Ran) -> dict[str, Any]:
    """What a run without faults tells of the points where it can be killed, as plain JSON."""
    return {
        "points": [asdict(point) for point in ran.points],
        "witness": witness.expected(ran.claims, ran.witness),
    }
