"""One edge of the crash graph: from a durable state, one run that is killed at a point or ends by itself.

Runs in a warm process of the pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.harness import foreign, resuming, schedules, snapshots
from labkit.harness.columns import happened, last_words, recorded
from labkit.harness.identity import raw_digest, state_digest
from labkit.harness.jobs import SweepJob, clone
from labkit.observations import ProcessRun, Snapshot


def run_from(job: SweepJob, state: dict[str, Any], at: int, label: str | None) -> dict[str, Any]:
    """Run from a state (`folder`, `run_number`, `minted`, `digest`, `known`) and say which state it leaves.

    `at=0` runs to the end without faults and lists the crash points; else the run is killed there and
    the point's label must be `label`.  The folder of the state that is left is kept: the caller
    removes it.  A kill that leaves a content in `known` (raw digest by state digest) leads to nothing
    new: what it would be called and judged is left out.
    """
    folder = clone(state["folder"], job.scratch)
    run_number = state["run_number"]
    ran = schedules.run_faulty(job, folder, run_number, at, state["digest"])
    outcome, why = ("timed_out", "a run passed its deadline") if ran.run.timed_out else ("judged", "")
    if at:
        outcome, why = schedules.how_it_fell(job, ran, at, None)
        met = ran.points[-1].label if ran.points else None
        if outcome == "judged" and label is not None and met != label:
            outcome, why = "flaky", f"point {at} is `{met}` here and `{label}` in the fault-free run"
        if outcome == "judged" and run_number == 1:
            schedules.intervene(job, folder)
    rows = contents(job, folder)
    minted = sorted({*state["minted"], *ran.minted})
    digest, raw = state_digest(rows, minted, job.identity_of_states), raw_digest(rows)
    is_known = at > 0 and state["known"].get(digest) == raw
    return {
        "folder": str(folder),
        "digest": digest,
        "raw": raw,
        "minted": minted,
        "reads": ran.reads,
        "outcome": outcome,
        "explanation": why,
        "returncode": ran.run.returncode,
        "result": ran.run.result,
        "points": [asdict(point) for point in ran.points] if at == 0 else [],
        "last_words": last_words([ran.run]),
        **({} if is_known else judged(job, folder, at, (ran.run,) * run_number, rows)),
    }


def judged(
    job: SweepJob, folder: Path, at: int, runs: tuple[ProcessRun, ...], rows: Snapshot
) -> dict[str, Any]:
    """The verdicts on a state and its two columns; a handler's own reader is a process of its own."""
    final = resuming.rows_of(job, folder) if job.world == "folder" else rows
    observation = resuming.observe(job, folder, (at,) if at else (), runs, final)
    return {
        "verdicts": [asdict(verdict) for verdict in resuming.judge_of(job)(observation)],
        "summary": recorded(final) | happened(job, final),
    }


def contents(job: SweepJob, folder: Path) -> Snapshot:
    """Every durable row that the identity of a state depends on, from copies."""
    read: Callable[[Path], Snapshot] = (
        snapshots.snapshot if job.world == "labkit" else foreign.copied_contents
    )
    return read(folder)
