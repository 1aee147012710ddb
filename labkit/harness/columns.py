"""What the final rows say, as a crash map shows it: one column for the journal, one for the ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.harness.jobs import SweepJob
from labkit.observations import ProcessRun, Snapshot


def recorded(final: Snapshot) -> dict[str, Any]:
    """The journal's column: checkpoints, and the state of each step, by its operation id where two share a name."""
    if "facts" in final:
        return {row["intent"]: row["recorded"] for row in final["facts"]["intents"]}
    journal = final["journal"]
    steps = [row["step"] for row in journal["operations"]]
    states = {
        row["step"] if steps.count(row["step"]) == 1 else row["operation_id"]: row["state"]
        for row in journal["operations"]
    }
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


def unreadable(final: Snapshot) -> str:
    """Why a foreign handler's reader could not read the rows, empty where it could."""
    return " ".join(row["because"] for row in final.get("facts", {}).get("unreadable", ()))


def last_words(runs: Sequence[ProcessRun]) -> str:
    """The last line that a failing resume printed to stderr."""
    if not runs or runs[-1].returncode == 0:
        return ""
    lines = runs[-1].stderr_tail.strip().splitlines()
    return lines[-1][:300] if lines else "it printed nothing to stderr"
