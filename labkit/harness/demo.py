"""The crash demo: the same crash twice, once with an idempotency key and once without.

Two workflows share one journal and one ledger.  Each child leaves by exit 86 after the ledger commits
and before the journal hears of it.  With a key, recovery finds the effect and every replay gets the
original receipt; without one, recovery cannot know, says so, and asks for reconciliation.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.actions import Action
from labkit.boundaries import Boundary
from labkit.harness import packets, provenance, trials, worlds
from labkit.harness.child import DEMO_EXIT_CODE
from labkit.harness.endings import complaint, require_machine_held
from labkit.harness.launchers import ExecLauncher, Launcher
from labkit.harness.registered import WORKERS
from labkit.harness.timelines import timeline
from labkit.harness.trials import Crash, Handler, Judge, Scenario
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec
from labkit.observations import Observation, ProcessRun, Snapshot, Verdict
from labkit.values import Approval, Mandate

JOURNAL = "workflow-journal.sqlite3"
LEDGER = "simulated-tool-ledger.sqlite3"
WITH_KEY = "order-2001"
WITHOUT_KEY = "order-2002"
MORE_RESUMES = 3
NEVER_MS = 2**53 - 1  # an approval that does not expire while the demo runs
RESUMED = {WITH_KEY: 1 + MORE_RESUMES, WITHOUT_KEY: 1}


def world() -> WorldSpec:
    """Two approved orders of 4,000 minor units; the provider takes a key for the first one only."""
    steps = tuple(
        StepSpec(
            Action("charge", order, 4000, "USD"),
            operation_id=f"{order}:charge",
            workflow_id=order,
            state="NOT_ADMITTED",
            approval_id=f"approval-{order}",
            idempotent=order == WITH_KEY,
        )
        for order in (WITH_KEY, WITHOUT_KEY)
    )
    mandates = tuple(Mandate(step.action.subject, 4000, "USD") for step in steps)
    approvals = tuple(
        Approval(f"approval-{step.workflow_id}", step.action.digest, step.workflow_id, 0, "demo", 1, NEVER_MS)
        for step in steps
    )
    ledger = LedgerSpec(file=LEDGER, mandates=mandates)
    return WorldSpec(steps, (ledger,), approvals, journal_file=JOURNAL)


def run_demo(folder: Path, judge: Judge, launcher: Launcher | None = None) -> dict[str, Any]:
    """Run the demo in a new or empty folder, leave its evidence there, and return the receipt.

    Raises:
        OutputInUse: the folder holds something; nothing in it is changed.
        HarnessError: a child could not be started or reaped.
    """
    worlds.prepare(folder, world())
    runs = {order: run_order(order, folder, launcher or ExecLauncher()) for order in RESUMED}
    rows = worlds.snapshot(folder)
    verdicts = {order: judge(observation_of(order, runs[order], rows))[0] for order in RESUMED}
    receipt = receipt_of(runs, rows, verdicts)
    with (folder / "timeline.txt").open("x", encoding="utf-8") as file:
        file.write(timeline(rows, runs))
    with (folder / "receipt.json").open("x", encoding="utf-8") as file:
        file.write(json.dumps(receipt, indent=2) + "\n")
    return receipt


def run_order(order: str, folder: Path, launcher: Launcher) -> list[ProcessRun]:
    """One workflow: a first run that leaves by exit 86, and its resumes.  Raises: HarnessError."""
    worker = WORKERS / "demo.py"
    scenario = Scenario("demo", world(), Handler(worker, "pay"), Handler(worker, "resume"), order)
    crash = Crash(Boundary.EFFECT_COMMITTED, stop="exit_86")
    runs = [trials.run_once(launcher, trials.child_spec(scenario.first, scenario, folder, 1, crash), "first")]
    for number in range(2, 2 + RESUMED[order]):
        spec = trials.child_spec(scenario.resume, scenario, folder, number, None)
        runs.append(trials.run_once(launcher, spec, "resume"))
    require_machine_held(runs)
    return runs


def observation_of(order: str, runs: list[ProcessRun], rows: Snapshot) -> Observation:
    """One of the two workflows, for the judge."""
    return Observation(
        scenario="demo",
        fault=f"exit {DEMO_EXIT_CODE} at {Boundary.EFFECT_COMMITTED}",
        intents=(("payments", "charge", order),),
        runs=tuple(runs),
        interruption=None,
        final=rows,
    )


# --- the receipt ----------------------------------------------------------------------------


def receipt_of(
    runs: dict[str, list[ProcessRun]], rows: Snapshot, verdicts: dict[str, Verdict]
) -> dict[str, Any]:
    """What became of both workflows.  Effects are counted in the ledger's rows, never taken from a worker."""
    workflows = {
        "idempotent": workflow_of(WITH_KEY, runs[WITH_KEY], rows, verdicts[WITH_KEY]),
        "non_idempotent": workflow_of(WITHOUT_KEY, runs[WITHOUT_KEY], rows, verdicts[WITHOUT_KEY]),
    }
    differences = shortfalls(workflows)
    return {
        "demo": "two workflows, one crash each",
        "schema_version": packets.SCHEMA_VERSION,
        "deployment_authorized": False,
        "workflows": workflows,
        "total_effects": len(rows["payments"]["effects"]),
        "safe_replays": sum(flow["replayed"] is True for flow in workflows.values()),
        "ambiguous_calls": sum(flow["state"] == "UNKNOWN_OUTCOME" for flow in workflows.values()),
        "passed": not differences,
        "because": differences,
        "snapshot_sha256": packets.sealed(rows)["digest"],
        "environment": provenance.environment(),
        "shows": packets.SHOWS,
    }


def workflow_of(order: str, runs: list[ProcessRun], rows: Snapshot, verdict: Verdict) -> dict[str, Any]:
    """One workflow: its processes, what they answered, and what the rows say."""
    first, *resumes = runs
    operation = next(row for row in rows["journal"]["operations"] if row["workflow_id"] == order)
    effects = [row for row in rows["payments"]["effects"] if row["subject"] == order]
    answers = [run.result or {} for run in resumes]
    receipts = {answer.get("receipt_digest") for answer in answers} - {None}
    return {
        "workflow_id": order,
        "idempotency_key": operation["operation_id"] if operation["idempotent"] else None,
        "child": {"pid": first.pid, "exit_code": first.returncode, "boundary": first.boundary},
        "resumes": [
            {"pid": run.pid, "exit_code": run.returncode, "answer": run.result, "complaint": complaint(run)}
            for run in resumes
        ],
        "replayed": all(a.get("replayed") for a in answers) if operation["idempotent"] else None,
        "replayed_receipt_digests": sorted(receipts),
        "effects": len(effects),
        "effect_receipt_digests": [row["receipt_digest"] for row in effects],
        "state": operation["state"],
        "verdict": asdict(verdict),
        "next": "nothing"
        if operation["idempotent"]
        else "a person reconciles: confirmed_applied or confirmed_not_applied",
    }


def shortfalls(workflows: dict[str, dict[str, Any]]) -> list[str]:
    """Where the demo did not come out as it must; empty where it did."""
    expected: dict[str, dict[str, Any]] = {
        "idempotent": {"state": "OUTCOME_VERIFIED", "replayed": True, "verdict": "exactly_one"},
        "non_idempotent": {"state": "UNKNOWN_OUTCOME", "replayed": None, "verdict": "honest_unknown"},
    }
    found = []
    for name, flow in workflows.items():
        seen = {**flow, "verdict": flow["verdict"]["name"], "exit_code": flow["child"]["exit_code"]}
        for field, wanted in {**expected[name], "effects": 1, "exit_code": DEMO_EXIT_CODE}.items():
            if seen[field] != wanted:
                found.append(f"{name}: {field} is {seen[field]!r}, not {wanted!r}")
        found += [
            f"{name}: a resume left by exit {resume['exit_code']}: {resume['complaint']}"
            for resume in flow["resumes"]
            if resume["exit_code"] != 0
        ]
    with_key = workflows["idempotent"]
    if with_key["replayed_receipt_digests"] != with_key["effect_receipt_digests"]:
        found.append("idempotent: a replay did not get the original receipt")
    return found
