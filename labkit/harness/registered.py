"""The seven registered interventions, as data: what is done to the worker, and what has to come of it.

One payment of 4,000 minor units for order-1001, permitted exactly; two durable commits, the payment
and then the checkpoint.  What is expected is written here before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.boundaries import Boundary
from labkit.harness import contracts, trials
from labkit.harness.endings import require_machine_held
from labkit.harness.launchers import Launcher
from labkit.harness.packets import Record, record_of
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.harness.worlds import one_charge

WORKERS = Path(__file__).parent / "workers"
REFERENCE = WORKERS / "payment.py"
MUTANT = WORKERS / "mutant_new_key.py"


@dataclass(frozen=True, slots=True)
class Intervention:
    """One registered intervention.

    `at_interruption` counts (effects, checkpoints); for the control that is when its only run is over.
    `task_resolved` is whether the order is paid and the journal knows.  It says nothing of safety: a
    refusal is safe and resolves nothing, a second payment resolves and is not safe.
    """

    id: str
    sentence: str
    crash: Crash
    verdict: str
    final_effects: int
    at_interruption: tuple[int, int]
    task_resolved: bool = True
    resumed_by: Path = REFERENCE

    @property
    def scenario(self) -> Scenario:
        """The reference worker, and the one that resumes it."""
        return Scenario(self.id, one_charge(), Handler(REFERENCE, "pay"), Handler(self.resumed_by, "resume"))


def killed_at(boundary: Boundary, *interventions: str) -> Crash:
    """SIGKILL at a boundary, and what happens before the restart."""
    return Crash(boundary, interventions=interventions)


BEFORE = Boundary.BEFORE_EFFECT
PAID = Boundary.EFFECT_COMMITTED
DONE = Boundary.CHECKPOINTED
REVOKED = "revoke_mandate"

INTERVENTIONS = (
    Intervention("control", "nothing happens", Crash(resumes=0), "exactly_one", 1, (1, 1)),
    Intervention(
        "kill_before_effect", "SIGKILL before the payment", killed_at(BEFORE), "exactly_one", 1, (0, 0)
    ),
    Intervention(
        "kill_before_checkpoint", "SIGKILL after the payment commits, before the checkpoint",
        killed_at(PAID), "exactly_one", 1, (1, 0),
    ),
    Intervention(
        "kill_after_checkpoint", "SIGKILL after the checkpoint", killed_at(DONE), "exactly_one", 1, (1, 1)
    ),
    Intervention(
        "mutant_new_key", "as kill_before_checkpoint; a wrong worker retries under a new key",
        killed_at(PAID), "duplicate", 2, (1, 0), resumed_by=MUTANT,
    ),
    Intervention(
        "revoke_before_effect", "SIGKILL before the payment; mandate revoked before the restart",
        killed_at(BEFORE, REVOKED), "refused", 0, (0, 0), task_resolved=False,
    ),
    Intervention(
        "revoke_after_effect", "SIGKILL after the payment; mandate revoked before the restart",
        killed_at(PAID, REVOKED), "exactly_one", 1, (1, 0),
    ),
)  # fmt: skip

PROGRESS = (("payments", "effects"), ("journal", "checkpoints"))


def run(intervention: Intervention, folder: Path, launcher: Launcher) -> Record:
    """One trial in a new folder, as a record that nobody has judged yet.  Raises: HarnessError."""
    observation = trials.run_trial(intervention.scenario, intervention.crash, folder, launcher=launcher)
    require_machine_held(observation.runs)
    return {"boundary": intervention.crash.boundary, **record_of(observation)}


def contract_of(intervention: Intervention, record: Record) -> contracts.Contract:
    """Whether a judged record is what was expected of the intervention."""
    final = contracts.counts(contracts.rows_of(record, "final"), *PROGRESS) or [0, 0]
    found = {
        "verdicts": contracts.verdict_names(record),
        "final_effects": final[0],
        "at_interruption": contracts.counts(contracts.rows_of(record, "interruption"), *PROGRESS),
        "task_resolved": min(final) > 0,
        "ends": contracts.ends(record),
        "new_process_each_run": contracts.all_pids_differ(record),
    }
    expected = {
        "verdicts": [intervention.verdict],
        "final_effects": intervention.final_effects,
        "at_interruption": list(intervention.at_interruption),
        "task_resolved": intervention.task_resolved,
        "ends": expected_ends(intervention.crash),
        "new_process_each_run": True,
    }
    return contracts.compared(record, expected, found)


def expected_ends(crash: Crash) -> Sequence[str]:
    """How the first worker and those that resume must end.

    >>> expected_ends(killed_at(PAID))
    ['SIGKILL at effect.committed', 'exit 0']
    """
    first = f"SIGKILL at {crash.boundary}" if crash.boundary else "exit 0"
    return [first, *("exit 0" for _ in range(crash.resumes))]
