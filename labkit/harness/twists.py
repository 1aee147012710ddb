"""How a world is made harder: what it starts with, and what happens to it between crash and resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from labkit.errors import UnknownName
from labkit.harness.interventions import INTERVENTIONS
from labkit.harness.specs import WorldSpec
from labkit.values import Approval, BudgetPolicy

EXPIRES_AT_MS = 1500  # after the first run, which is at 1000, and before the resume at 2000
SECOND_WORKER = "second_worker"


def approval_expires(spec: WorldSpec) -> WorldSpec:
    """Every step needs an approval, and it expires between the crash and the resume."""
    steps = tuple(
        replace(step, state="NOT_ADMITTED", approval_id=step.approval_id or f"approval-{number}")
        for number, step in enumerate(spec.steps, 1)
    )
    approvals = tuple(
        Approval(
            str(step.approval_id), step.action.digest, step.action.subject, 0, "approver", 1, EXPIRES_AT_MS
        )
        for step in steps
    )
    return replace(spec, steps=steps, approvals=approvals)


def budget_of_one(spec: WorldSpec) -> WorldSpec:
    """Every provider permits as many effects as there are steps for it, and not one more."""
    ledgers = tuple(
        replace(ledger, budget=BudgetPolicy(sum(step.ledger == ledger.name for step in spec.steps)))
        for ledger in spec.ledgers
    )
    return replace(spec, ledgers=ledgers)


WORLDS: dict[str, Callable[[WorldSpec], WorldSpec]] = {
    "approval_expires": approval_expires,
    "budget_of_one": budget_of_one,
}
NAMES = (*WORLDS, SECOND_WORKER, *INTERVENTIONS)


def require_known(names: Sequence[str]) -> None:
    """Let known twists pass.  Raises: UnknownName."""
    for name in names:
        if name not in NAMES:
            raise UnknownName(f"world {name} is not known", f"choose one of {', '.join(NAMES)}")


def twisted(spec: WorldSpec, names: Sequence[str]) -> WorldSpec:
    """The world with those twists that it starts with."""
    for name in names:
        spec = WORLDS[name](spec) if name in WORLDS else spec
    return spec


def between(names: Sequence[str]) -> tuple[str, ...]:
    """Those twists that happen to the stores between the crash and the resume."""
    return tuple(name for name in names if name in INTERVENTIONS)
