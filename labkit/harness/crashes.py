"""One crash and one recovery as tasks of a warm process: a world goes in, what is left of it comes out.

What a kill leaves is plain JSON: `folder` (kept, the caller removes it), `bytes` (its digest) and `size`, the
`place` where the world was, the `runs` so far and the crash points that they `met`.  The next kill, or the
recovery, begins there.  Where there was no room to keep the folder, `again` says how to get the same once more.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.harness import remains, resuming, schedules, witness
from labkit.harness.jobs import SweepJob, clone
from labkit.harness.ran import Ran
from labkit.observations import CrashPoint, ProcessRun, TrialOutcome

Left = dict[str, Any]
START: Left = {"folder": "", "runs": [], "met": []}  # the job's own world, before the first run


def kill(job: SweepJob, left: Left, point: dict[str, Any], seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The run that follows on `left` is killed at `point`: what that leaves, or an answer that says why not.

    `seen` is what a run without faults has shown there, see `witness`.
    """
    if "again" in left:
        same = {"met": left["met"]}
        return after(job, left["again"], lambda found: kill(job, found | same, point, seen))
    folder = clone(left["folder"] or job.template, job.scratch)
    runs, met = runs_of(left), [*met_of(left), CrashPoint(**point)]
    move_on(job, folder, left)
    ran = schedules.run_faulty(job, folder, len(runs) + 1, met[-1].number)
    outcome, why = how_it_fell(job, ran, met[-1].number, met[-1], seen)
    if outcome != "judged":
        shutil.rmtree(folder)
        return [unjudged(met, outcome, why)]
    kept = folder.rename(folder.with_name(f"{folder.name}-left"))
    return [
        {
            "outcome": outcome,
            "folder": str(kept),
            "place": str(folder),
            "bytes": remains.digest_of(kept),
            "size": remains.size_of(kept),
            "runs": [asdict(run) for run in (*runs, ran.run)],
            "met": [asdict(point) for point in met],
        }
    ]


def recover(job: SweepJob, left: Left, counts: bool) -> list[dict[str, Any]]:
    """The workflow is resumed to its end from what a kill has left.

    Where it `counts`, the first resume tells its own crash points as well.
    """
    if "again" in left:
        same = {"met": left["met"]}  # it may stand for another that left the same
        return after(job, left["again"], lambda found: recover(job, found | same, counts))
    with world_again(left) as folder:
        move_on(job, folder, left)
        result = resuming.finish_and_judge(job, folder, runs_of(left), met_of(left), counts)
    if why := witness.problem_of(result.get("witness", {})):
        return [unjudged(met_of(left), "tampered", why)]
    return [result]


def kill_and_recover(
    job: SweepJob, left: Left, point: dict[str, Any], seen: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Both, one after the other, with nothing kept."""
    return after(job, (left, point, seen), lambda found: recover(job, found, counts=False))


def after(
    job: SweepJob, crash: Sequence[Any], then: Callable[[Left], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """What comes after a kill, `then` told from what it leaves, which is not kept."""
    [found] = kill(job, *crash)
    if "bytes" not in found:
        return [found]
    try:
        return then(found)
    finally:
        shutil.rmtree(found["folder"], ignore_errors=True)


def move_on(job: SweepJob, folder: Path, left: Left) -> None:
    """What happens to the world after its first crash."""
    if len(left["met"]) == 1:
        schedules.intervene(job, folder)


def runs_of(left: Left) -> list[ProcessRun]:
    """The processes so far."""
    return [ProcessRun(**run) for run in left["runs"]]


def met_of(left: Left) -> list[CrashPoint]:
    """The points that they were killed at."""
    return [CrashPoint(**point) for point in left["met"]]


@contextmanager
def world_of(job: SweepJob, template: str = "") -> Iterator[Path]:
    """A clone of the job's world, or of another one, gone afterwards."""
    folder = clone(template or job.template, job.scratch)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def world_again(left: Left) -> Iterator[Path]:
    """What a kill has left, at its own place: files of the killed run may name that.  Gone afterwards."""
    folder = Path(left["place"])
    shutil.rmtree(folder, ignore_errors=True)  # of a warm process that died at the same task
    folder.mkdir(mode=0o700)
    try:
        remains.copied(left["folder"], folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def how_it_fell(
    job: SweepJob, ran: Ran, at: int, expected: CrashPoint | None, seen: Mapping[str, Any]
) -> tuple[TrialOutcome, str]:
    """Whether a run met its fault where the fault-free run has this point: by its word, and from outside."""
    outcome, why = schedules.how_it_fell(job, ran, at, expected)
    if outcome == "judged" and (found := witness.contradiction(seen, ran.witness, at)):
        return "tampered", found
    return outcome, why


def unjudged(points: list[CrashPoint], outcome: str, why: str) -> dict[str, Any]:
    """A schedule that could not be judged, with the reason."""
    return {
        "schedule": [asdict(point) for point in points], "outcome": outcome, "verdicts": [], "promised": [],
        "returncodes": [], "recorded": {}, "happened": {}, "explanation": why, "recovery_worked": False,
    }  # fmt: skip
