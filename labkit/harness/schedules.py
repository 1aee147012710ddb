"""One run of a crash schedule: started, killed or left alone, and proven to have met its fault.

Runs in a warm process of the pool.  Every kill is a SIGKILL that the child sends to itself at the
numbered point, and the parent verifies both the signal and the point's label.
"""

from __future__ import annotations

import signal
from pathlib import Path

from labkit.harness import interventions, launchers
from labkit.harness.child import ChildSpec
from labkit.harness.jobs import SweepJob
from labkit.harness.ran import Ran
from labkit.harness.remains import digest_of
from labkit.observations import CrashPoint, TrialOutcome

GRACE_S = 1.0  # between SIGTERM and SIGKILL


def run_to_end(job: SweepJob, spec: ChildSpec, role: str) -> Ran:
    """One child, run until it ends or its deadline passes."""
    with job.launcher.start(spec) as child:
        run = child.finish(role, job.deadline_s)
    return Ran(run, child.messages)


def run_faulty(job: SweepJob, folder: Path, run_number: int, at: int, state: str = "") -> Ran:
    """One child that meets the job's fault at point `at`; 0 lets it run and counts the points."""
    spec = job.spec(folder, run_number, at, state)
    role = "first" if run_number == 1 else "resume"
    if at and job.fault == "pause":
        return run_paused(job, folder, spec, role)
    with job.launcher.start(spec) as child:
        if at and job.fault == "term" and child.until_boundary(job.deadline_s):
            run = child.finish(role, GRACE_S)
        else:
            run = child.finish(role, job.deadline_s)
    if at and job.fault == "kill":
        launchers.end_orphans()  # what it left running dies with it: nobody writes in what it left
    return Ran(run, child.messages)


def run_paused(job: SweepJob, folder: Path, spec: ChildSpec, role: str) -> Ran:
    """The slow one that is not dead: stopped at its point while a second worker takes over, then woken.

    Where it was stopped inside a transaction it holds SQLite's lock: there the second worker gets
    the contention error, changes nothing, and is run again afterwards like any resume.
    """
    takeover, before = None, digest_of(folder)
    with job.launcher.start(spec) as child:
        if child.until_stopped(job.deadline_s):
            second = job.spec(folder, spec.run_number + 1)
            takeover = run_to_end(job, second, "takeover").run
        worked = digest_of(folder) != before
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


def intervene(job: SweepJob, folder: Path) -> None:
    """What happens to the world between the crash and the resume."""
    for name in job.interventions:
        interventions.intervene(folder, name, 1500)
