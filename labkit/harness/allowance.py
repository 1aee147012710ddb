"""What crashes and competitors do to a budget: the allowance before, at the interruption, in the end.

The ledger permits one effect and 4,000 minor units of USD.  Nothing counts on the side: what is left
follows from committed rows, so a crash can neither leak an allowance nor double it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from labkit.actions import Action
from labkit.boundaries import Boundary
from labkit.harness import contracts, trials, worlds
from labkit.harness.endings import require_machine_held
from labkit.harness.launchers import Launcher
from labkit.harness.packets import Record, record_of, sealed
from labkit.harness.registered import REFERENCE
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec, one_charge
from labkit.observations import Observation, ProcessRun, Snapshot
from labkit.values import BudgetPolicy, BudgetSnapshot, Mandate

LAST_UNIT = BudgetPolicy(max_effects=1, caps_minor=(("USD", 4000),))
MOMENTS = ("before", "interruption", "final")


@dataclass(frozen=True, slots=True)
class BudgetCase:
    """One failure and what it does to the allowance.

    `remaining_effects` is expected before, at the interruption and in the end; None where the case has
    no interruption.  `invocations` are the answers that the ledger recorded, sorted.
    """

    id: str
    sentence: str
    crash: Crash
    remaining_effects: tuple[int, int | None, int]
    invocations: tuple[str, ...]
    verdicts: tuple[str, ...] = ("exactly_one",)
    resumed_by: str = "resume"
    competitors: int = 1


CASES = (
    BudgetCase(
        "kill_before_commit", "SIGKILL between insert and commit, then a resume",
        Crash(Boundary.EFFECT_INSERTED), (1, 1, 0), ("committed",),
    ),
    BudgetCase(
        "kill_after_commit", "SIGKILL after the commit, then a resume that reads first",
        Crash(Boundary.EFFECT_COMMITTED), (1, 0, 0), ("committed",),
    ),
    BudgetCase(
        "replay", "SIGKILL after the commit, then the same call under the same operation id",
        Crash(Boundary.EFFECT_COMMITTED), (1, 0, 0), ("already_committed", "committed"), resumed_by="pay",
    ),
    BudgetCase(
        "compete_for_last_unit", "two processes ask at once for the last unit, each for its own order",
        Crash(resumes=0), (1, None, 0), ("budget_action_limit", "committed"),
        verdicts=("exactly_one", "refused"), competitors=2,
    ),
    BudgetCase(
        "revoke_after_commit", "SIGKILL after the commit; mandate revoked before the resume",
        Crash(Boundary.EFFECT_COMMITTED, interventions=("revoke_mandate",)), (1, 0, 0), ("committed",),
    ),
)  # fmt: skip


def run(case: BudgetCase, folder: Path, launcher: Launcher) -> Record:
    """One case in a new folder, as a record that nobody has judged yet.  Raises: HarnessError."""
    world = competing_world(case.competitors) if case.competitors > 1 else one_charge(budget=LAST_UNIT)
    scenario = Scenario(case.id, world, Handler(REFERENCE, "pay"), Handler(REFERENCE, case.resumed_by))
    worlds.prepare(folder, world)
    before, interruption = worlds.snapshot(folder), None
    if case.competitors > 1:
        runs = compete(scenario, folder, launcher)
    else:
        runs = [
            trials.run_once(
                launcher, trials.child_spec(scenario.first, scenario, folder, 1, case.crash), "first"
            )
        ]
        interruption = worlds.snapshot(folder)
        for name in case.crash.interventions:
            worlds.intervene(folder, name, 1500)
        runs.append(
            trials.run_once(launcher, trials.child_spec(scenario.resume, scenario, folder, 2, None), "resume")
        )
    require_machine_held(runs)
    observation = Observation(
        scenario=case.id,
        fault=f"SIGKILL at {case.crash.boundary}" if case.crash.boundary else "none",
        intents=world.intents,
        runs=tuple(runs),
        interruption=interruption,
        final=worlds.snapshot(folder),
        outcome="timed_out" if any(run.timed_out for run in runs) else "judged",
        interventions=case.crash.interventions,
    )
    return {"boundary": case.crash.boundary, "before": sealed(before), **record_of(observation)}


def competing_world(orders: int) -> WorldSpec:
    """Several orders, each with its own workflow and mandate, and one allowance between them."""
    actions = [Action("charge", f"order-{1001 + number}", 4000, "USD") for number in range(orders)]
    return WorldSpec(
        steps=tuple(StepSpec(action, f"{action.subject}:charge", action.subject) for action in actions),
        ledgers=(
            LedgerSpec(
                mandates=tuple(
                    Mandate(action.subject, action.amount_minor, action.currency) for action in actions
                ),
                budget=LAST_UNIT,
            ),
        ),
    )


def compete(scenario: Scenario, folder: Path, launcher: Launcher) -> list[ProcessRun]:
    """One worker an order, all held right before the call and let go together."""
    gate = Crash(Boundary.BEFORE_EFFECT)
    with ExitStack() as kept:
        children = []
        for number, step in enumerate(scenario.world.steps, start=1):
            order = replace(scenario, workflow_id=step.workflow_id)
            spec = trials.child_spec(scenario.first, order, folder, number, gate)
            children.append(kept.enter_context(launcher.start(spec)))
        for child in children:
            child.until_boundary()
        for child in children:
            child.release()
        return [child.finish("competitor") for child in children]


def allowance(rows: Snapshot, ledger: str = "payments") -> BudgetSnapshot:
    """The allowance that a ledger's rows leave; the same as `protocol.budget` reads from the live file."""
    tables = rows[ledger]
    effects, cap = tables["effects"], tables["policy"][0]["max_effects"]
    charged: dict[str, int] = {}
    for effect in effects:
        charged[effect["currency"]] = charged.get(effect["currency"], 0) + effect["amount_minor"]
    return BudgetSnapshot(
        charged_effects=len(effects),
        charged_minor=charged,
        remaining_effects=None if cap is None else cap - len(effects),
        remaining_minor={
            row["currency"]: row["cap_minor"] - charged.get(row["currency"], 0)
            for row in tables["currency_caps"]
        },
    )


def contract_of(case: BudgetCase, record: Record) -> contracts.Contract:
    """Whether a judged record is what was expected of the case."""
    final = record["final"]["rows"]["payments"]
    allowances = {moment: _allowance(record, moment) for moment in MOMENTS}
    found = {
        "verdicts": contracts.verdict_names(record),
        "final_effects": len(final["effects"]),
        "invocations": sorted(row["status"] for row in final["invocations"]),
        "allowance": allowances,
        "remaining_effects": [kept and kept["remaining_effects"] for kept in allowances.values()],
        "remaining_usd_minor": [kept and kept["remaining_minor"]["USD"] for kept in allowances.values()],
        "ends": contracts.ends(record),
        "new_process_each_run": contracts.all_pids_differ(record),
    }
    first = f"SIGKILL at {case.crash.boundary}" if case.crash.boundary else "exit 0"
    expected = {
        "verdicts": list(case.verdicts),
        "final_effects": 1,
        "invocations": list(case.invocations),
        "remaining_effects": list(case.remaining_effects),
        "remaining_usd_minor": [units and units * 4000 for units in case.remaining_effects],
        "ends": [first, "exit 0"],
        "new_process_each_run": True,
    }
    return contracts.compared(record, expected, found)


def _allowance(record: Record, moment: str) -> dict[str, Any] | None:
    rows = contracts.rows_of(record, moment)
    return None if rows is None else asdict(allowance(rows))
