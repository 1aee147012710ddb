"""One crash schedule, carried out: clone the world, run and kill, resume to the end, judge the rows.

Runs in a warm process of the pool.  Every kill is a SIGKILL that the child sends to itself at the
numbered point, and the parent verifies both the signal and the point's label.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labkit.harness import foreign, interventions, snapshots
from labkit.harness.child import ChildSpec
from labkit.harness.jobs import SweepJob, clone, load_judge
from labkit.harness.launchers import ForkLauncher
from labkit.observations import CrashPoint, Observation, ProcessRun, Snapshot, TrialOutcome

GRACE_S = 1.0  # between SIGTERM and SIGKILL


@dataclass(frozen=True, slots=True)
class Ran:
    """One child's end, with what it reported on the way."""

    run: ProcessRun
    messages: list[dict[str, Any]] = field(repr=False)

    @property
    def points(self) -> tuple[CrashPoint, ...]:
        """The crash points that it reported: all of them when it only counted, else the one it met."""
        return tuple(
            CrashPoint(message["point"], message["kind"], message["label"], message["line"])
            for message in self.messages
            if "point" in message
        )

    @property
    def minted(self) -> list[str]:
        """The opaque values that it drew."""
        return [token for message in self.messages for token in message.get("minted", ())]

    @property
    def problem(self) -> str | None:
        """What the child's own watcher complained of."""
        return next((str(message["problem"]) for message in self.messages if "problem" in message), None)


def run_to_end(spec: ChildSpec, role: str, deadline_s: float) -> Ran:
    """One child, run until it ends or its deadline passes."""
    with ForkLauncher().start(spec) as child:
        run = child.finish(role, deadline_s)
    return Ran(run, child.messages)


def run_faulty(job: SweepJob, folder: Path, run_number: int, at: int, history: object) -> Ran:
    """One child that meets the job's fault at point `at`; 0 lets it run and counts the points."""
    spec = job.spec(folder, run_number, at, history)
    role = "first" if run_number == 1 else "resume"
    if at and job.fault == "pause":
        return run_paused(job, folder, spec, role)
    with ForkLauncher().start(spec) as child:
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
    with ForkLauncher().start(spec) as child:
        if child.until_stopped(job.deadline_s):
            run_to_end(job.spec(folder, spec.run_number + 1, history="takeover"), "takeover", job.deadline_s)
            child.signal(signal.SIGCONT)
        run = child.finish(role, job.deadline_s)
    return Ran(run, child.messages)


def how_it_fell(job: SweepJob, ran: Ran, at: int, expected: CrashPoint | None) -> tuple[TrialOutcome, str]:
    """Whether the fault was really met, at the place where the fault-free run has this point."""
    met = next((point for point in ran.points if point.number == at), None)
    if ran.problem:
        return "infra_error", ran.problem
    if met is None:
        if ran.run.timed_out:
            return "timed_out", f"the run passed its deadline before point {at}"
        return "not_killed", f"the run ended with {ran.run.returncode} before point {at}"
    if expected is not None and met.label != expected.label:
        return "flaky", f"point {at} is `{met.label}` here and `{expected.label}` in the fault-free run"
    if job.fault == "kill" and ran.run.returncode != -signal.SIGKILL:
        return "not_killed", f"the run met point {at} and returned {ran.run.returncode}"
    return "judged", ""


def resume_to_the_end(job: SweepJob, folder: Path, run_number: int, history: object) -> list[ProcessRun]:
    """Resume without faults until a run returns and would change nothing more, or none may follow."""
    runs: list[ProcessRun] = []
    before = contents_of(job, folder)
    for number in range(run_number, run_number + job.most_resumes):
        ran = run_to_end(job.spec(folder, number, history=history), "resume", job.deadline_s)
        runs.append(ran.run)
        after = contents_of(job, folder)
        if ran.run.timed_out or (ran.run.returncode == 0 and settled(job, folder, after, runs)):
            break
        if after == before:
            break
        before = after
    return runs


def settled(job: SweepJob, folder: Path, rows: Snapshot, runs: list[ProcessRun]) -> bool:
    """Whether the rows pass already, so that nobody would resume again."""
    verdicts = load_judge(job.judge)(observe(job, folder, (), tuple(runs), judged_rows(job, folder, rows)))
    return bool(verdicts) and all(verdict.passed for verdict in verdicts)


def contents_of(job: SweepJob, folder: Path) -> Snapshot:
    """Every durable row of the world, from copies."""
    if job.world == "labkit":
        return snapshots.snapshot(folder)
    copy = clone(folder, job.scratch)
    try:
        return foreign.contents(copy)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def judged_rows(job: SweepJob, folder: Path, rows: Snapshot) -> Snapshot:
    """The rows that a judge reads: labkit's own, or the facts that a foreign handler's reader finds."""
    if job.world == "labkit":
        return rows
    copy = clone(folder, job.scratch)
    try:
        return foreign.facts(Path(job.reader), copy)
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
    history = [point.number for point in points]
    before = contents_of(job, folder)
    later = resume_to_the_end(job, folder, 3 if job.fault == "pause" else len(runs) + 1, history)
    everything = (*runs, *later)
    after = contents_of(job, folder)
    final = judged_rows(job, folder, after)
    observation = observe(job, folder, history, everything, final)
    outcome: TrialOutcome = "timed_out" if later and later[-1].timed_out else "judged"
    return {
        "schedule": [asdict(point) for point in points],
        "outcome": outcome,
        "verdicts": [asdict(verdict) for verdict in load_judge(job.judge)(observation)],
        "promised": [run.result for run in everything],
        "returncodes": [run.returncode for run in everything],
        "recorded": recorded(final),
        "happened": happened(job, final),
        "explanation": "the recovery passed its deadline" if outcome == "timed_out" else last_words(later),
        "recovery_worked": before != after,
    }


def recorded(final: Snapshot) -> dict[str, Any]:
    """The journal's column: checkpoints, and the state of each step."""
    if "facts" in final:
        return {row["intent"]: row["recorded"] for row in final["facts"]["intents"]}
    journal = final["journal"]
    states = {row["step"]: row["state"] for row in journal["operations"]}
    return {"checkpoints": len(journal["checkpoints"]), **states}


def happened(job: SweepJob, final: Snapshot) -> dict[str, int]:
    """The ledgers' column: the number of effects of each intent."""
    if "facts" in final:
        return {row["intent"]: row["effects"] for row in final["facts"]["intents"]}
    return {
        f"{kind} {subject}": sum(
            row["kind"] == kind and row["subject"] == subject for row in final[ledger]["effects"]
        )
        for ledger, kind, subject in job.intents
    }


def last_words(runs: Sequence[ProcessRun]) -> str:
    """The last line that a failing resume printed to stderr."""
    if not runs or runs[-1].returncode == 0:
        return ""
    lines = runs[-1].stderr_tail.strip().splitlines()
    return lines[-1][:300] if lines else f"the resume returned {runs[-1].returncode}"
