"""What the crash tests share: the registered worlds and workers, and an observation as one comparable value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from labkit.harness import workers
from labkit.harness.trials import Crash, Handler, Scenario, run_trial
from labkit.harness.worlds import WorldSpec, one_charge
from labkit.learning.judge import judge
from labkit.observations import Observation, ProcessRun, Snapshot
from labkit.values import Approval

WORKERS = Path(workers.__file__).parent
Trial = Callable[..., Observation]


def handler(file: str, function: str) -> Handler:
    """One of the project's own workers."""
    return Handler(WORKERS / file, function)


def approved_charge() -> WorldSpec:
    """The charge of the lessons, not begun, with a person's approval: what the whole protocol starts from."""
    spec = one_charge(state="NOT_ADMITTED", approval_id="approval-1")
    action = spec.steps[0].action
    approval = Approval("approval-1", action.digest, action.subject, 0, "ann", 1, expires_at_ms=60_000)
    return replace(spec, approvals=(approval,))


PAYMENT = Scenario("payment", one_charge(), handler("payment.py", "pay"), handler("payment.py", "resume"))
NEW_KEY = replace(PAYMENT, name="new_key", resume=handler("mutant_new_key.py", "resume"))
PROTOCOL = Scenario(
    "protocol", approved_charge(), handler("full_protocol.py", "pay"), handler("full_protocol.py", "resume")
)


@dataclass(frozen=True)
class Scenarios:
    """The scenarios by name, for tests in other files."""

    payment: Scenario = PAYMENT
    new_key: Scenario = NEW_KEY
    protocol: Scenario = PROTOCOL


@pytest.fixture
def scenarios() -> Scenarios:
    """The reference worker, the one with the new key, and the whole protocol."""
    return Scenarios()


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """Runs one judged trial in a folder of its own."""

    def run(scenario: Scenario, crash: Crash) -> Observation:
        return run_trial(scenario, crash, tmp_path / "world", judge)

    return run


def told(run: ProcessRun) -> tuple[Any, ...]:
    """How a process ended and everything it said: exit, boundary, result, stdout, stderr."""
    return run.returncode, run.boundary, run.result, run.stdout_tail, run.stderr_tail


def rows(snapshot: Snapshot) -> dict[str, Any]:
    """The rows that matter of one moment: who was paid under which key, and what the journal believes."""
    journal, ledger = snapshot["journal"], snapshot["payments"]
    return {
        "effects": [(row["operation_id"], row["amount_minor"], row["currency"]) for row in ledger["effects"]],
        "checkpoints": [(row["operation_id"], row["effect_id"]) for row in journal["checkpoints"]],
        "state": [row["state"] for row in journal["operations"]],
        "mandate_revoked_at_ms": [row["revoked_at_ms"] for row in ledger["mandates"]],
    }


@pytest.fixture
def whole() -> Callable[[Observation], dict[str, Any]]:
    """An observation as one value: everything but pids, milliseconds and folders."""

    def of(observation: Observation) -> dict[str, Any]:
        assert observation.interruption is not None
        assert len({run.pid for run in observation.runs}) == len(observation.runs)
        return {
            "runs": [told(run) for run in observation.runs],
            "interruption": rows(observation.interruption),
            "final": rows(observation.final),
            "outcome": observation.outcome,
            "verdicts": [(verdict.name, verdict.passed) for verdict in observation.verdicts],
        }

    return of
