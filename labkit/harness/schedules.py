"""One crash schedule, carried out: clone the world, run and kill, resume to the end, judge the rows.

Runs in a warm process of the pool.  Every kill is a SIGKILL that the child sends to itself at the
numbered point, and the parent verifies both the signal and the point's label.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.harness import foreign, interventions, snapshots
from labkit.harness.child import ChildSpec
from labkit.harness.columns import happened as happened
from labkit.harness.columns import last_words as last_words
from labkit.harness.columns import recorded as recorded
from labkit.harness.columns import unreadable
from labkit.harness.jobs import Judge, SweepJob, clone, load_judge
from labkit.harness.ran import Cut
from labkit.harness.ran import Ran as Ran
from labkit.observations import CrashPoint, Observation, ProcessRun, Snapshot, TrialOutcome, Verdict

GRACE_S = 1.0  # between SIGTERM and SIGKILL


def run_to_end(job: SweepJob, spec: ChildSpec, role: str) -> Ran:
    """One child, run until it ends or its deadline passes."""
    with job.launcher.start(spec) as child:
        run = child.finish(role, job.deadline_s)
    return Ran(run, child.messages)


def run_faulty(job: SweepJob, folder: Path, run_number: int, at: int, history: object) -> Ran:
    """One child that meets the job's fault at point `at`; 0 lets it run and counts the points."""
    spec = job.spec(folder, run_number, at, history)
    role = "first" if run_number == 1 else "resume"
    if at and job.fault == "pause":
        return run_paused(job, folder, spec, role)
    with job.launcher.start(spec) as child:
        if at and job.fault == "term" and child.until_boundary(job.deadline_s):
            run = child.finish(role, GRACE_S)
        else:
            run = child.finish(role, job.deadline_s)
    return Ran(run, child.messages)


def run_paused(job: SweepJob, folder: Path, spec: ChildSpec, role: str) -> Ran:
    """The slow one that is not dead: stopped at its point while a second worker takes over, then woken.

    Where it was stopped inside a transaction it holds SQLite's lock: there the second worker gets
    the contention error, changes nothing, and is run again afterwards like any resume.
    """
    takeover, before = None, fingerprint(folder)
    with job.launcher.start(spec) as child:
        if child.until_stopped(job.deadline_s):
            second = job.spec(folder, spec.run_number + 1, history="takeover")
            takeover = run_to_end(job, second, "takeover").run
        worked = fingerprint(folder) != before
        child.signal(signal.SIGCONT)
        run = child.finish(role, job.deadline_s)
    return Ran(run, child.messages, takeover, worked)


def how_it_fell(job: SweepJob, ran: Ran, at: int, expected: CrashPoint | None) -> tuple[TrialOutcome, str]:
    """Whether the fault was really met, at the place where the fault-free run has this point."""
    met = next((point for point in ran.points if point.number == at), None)
    if ran.cut is not None:
        return ran.cut
    if ran.problem:
        return "infra_error", ran.problem
    if met is None:
        if ran.run.timed_out:
            return "timed_out", f"the run passed its deadline of {job.deadline_s:g} s before point {at}"
        return "not_killed", f"the run ended with {ran.run.returncode} before point {at}"
    if expected is not None and met.label != expected.label:
        return "flaky", f"point {at} is `{met.label}` here and `{expected.label}` in the fault-free run"
    if job.fault == "kill" and ran.run.returncode != -signal.SIGKILL:
        return "not_killed", f"the run met point {at} and returned {ran.run.returncode}"
    return "judged", ""


@dataclass(frozen=True, slots=True)
class Recovery:
    """The resumes after the fault, what they left behind, and whether they changed anything at all."""

    runs: list[ProcessRun]
    observation: Observation
    verdicts: tuple[Verdict, ...]
    cut: Cut
    worked: bool


def resume_to_the_end(
    job: SweepJob, folder: Path, faulty: Sequence[ProcessRun], history: Sequence[int]
) -> Recovery:
    """Resume without faults until the rows pass, a run changes nothing, or the last one is done."""
    runs: list[ProcessRun] = []
    at_first = before = fingerprint(folder)
    while True:
        cut: Cut = None
        spec = job.spec(folder, len(faulty) + len(runs) + 1, history=history)
        if job.rival and not runs:
            runs += race(job, spec, job.spec(folder, spec.run_number + 1, history=history))
        else:
            ran = run_to_end(job, spec, "resume")
            runs.append(ran.run)
            cut = ran.cut
        if runs[-1].timed_out:
            cut = cut or ("timed_out", f"the recovery passed its deadline of {job.deadline_s:g} s")
        observation = observe(job, folder, history, (*faulty, *runs), rows_of(job, folder))
        verdicts = judge_of(job)(observation)
        after = fingerprint(folder)
        if cut or after == before or is_settled(runs[-1], verdicts) or len(runs) >= job.most_resumes:
            return Recovery(runs, observation, verdicts, cut, after != at_first)
        before = after


def race(job: SweepJob, one: ChildSpec, other: ChildSpec) -> list[ProcessRun]:
    """Two resumes side by side, as when a supervisor took a slow worker for a dead one."""
    with job.launcher.start(one) as first, job.launcher.start(other) as second:
        return [first.finish("resume", job.deadline_s), second.finish("rival", job.deadline_s)]


def is_settled(last: ProcessRun, verdicts: Sequence[Verdict]) -> bool:
    """Whether the last resume returned and the rows pass already, so that nobody would resume again."""
    return last.returncode == 0 and bool(verdicts) and all(verdict.passed for verdict in verdicts)


def fingerprint(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a world: equal where a run changed nothing at all."""
    return {entry.path: Path(entry).read_bytes() for entry in files_below(folder)}


def files_below(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Every file of a folder, and of the folders in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path)
            elif entry.is_file():
                yield entry


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


def intervene(job: SweepJob, folder: Path) -> None:
    """What happens to the world between the crash and the resume."""
    for name in job.interventions:
        interventions.intervene(folder, name, 1500)


def finish_and_judge(
    job: SweepJob, folder: Path, runs: list[ProcessRun], points: Sequence[CrashPoint]
) -> dict[str, Any]:
    """Resume to the end, judge, and describe the result as plain JSON (a `PointResult`)."""
    return finish(job, folder, runs, points)[0]


def finish(
    job: SweepJob, folder: Path, runs: list[ProcessRun], points: Sequence[CrashPoint]
) -> tuple[dict[str, Any], Observation]:
    """Resume to the end and judge: the result as `finish_and_judge` gives it, and what was judged."""
    history = [point.number for point in points]
    recovery = resume_to_the_end(job, folder, runs, history)
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
    return result, recovery.observation
