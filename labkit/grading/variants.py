"""A world of one's own for every learner: other amounts, another currency, and other orders where they are free.

Values change, the crash points never.  A constant copied from a neighbour does not fit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.grading.stage import Stage
from labkit.harness.specs import LedgerSpec, StepSpec, WorldSpec
from labkit.harness.trials import Scenario
from labkit.values import Action, BudgetPolicy

CURRENCIES = ("USD", "EUR", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "CAD", "AUD", "NZD")


@dataclass(frozen=True, slots=True)
class Variant:
    """How one learner's world differs: amounts are `factor` times, currencies moved on, orders renamed."""

    factor: int
    shift: int
    order: int

    def amount(self, minor: int) -> int:
        """An amount or a cap: all are multiplied alike, so whatever fits still fits."""
        return minor * self.factor

    def currency(self, code: str) -> str:
        """Different currencies stay different."""
        if code not in CURRENCIES:
            return code
        return CURRENCIES[(CURRENCIES.index(code) + self.shift) % len(CURRENCIES)]


def variant_of(learner: str, kata: str, secret: str) -> Variant:
    """The variant of one learner in one kata: a function of the secret, which nobody can guess without it."""
    drawn = hashlib.sha256(f"{secret}\0{learner}\0{kata}".encode("utf-8", "backslashreplace")).digest()
    return Variant(
        factor=2 + int.from_bytes(drawn[:2], "big") % 97,
        shift=1 + drawn[2] % (len(CURRENCIES) - 1),
        order=2000 + int.from_bytes(drawn[3:6], "big") % 900_000,
    )


def staged(stage: Stage, variant: Variant) -> Stage:
    """The stage with its exercise in the variant's world."""

    def exercise(answer: Path) -> Scenario:
        scenario = stage.exercise(answer)
        names = free_orders(stage, scenario, answer, variant)
        return replace(
            scenario,
            world=world_of(scenario.world, variant, names),
            workflow_id=renamed(scenario.workflow_id, names),
        )

    return replace(stage, exercise=exercise)


def free_orders(stage: Stage, scenario: Scenario, answer: Path, variant: Variant) -> dict[str, str]:
    """New names for the orders that neither the kata's checks nor its own workers know by name."""
    files = [stage.kata.folder / "checks.py"]
    files += [
        handler.file for handler in (scenario.first, scenario.resume) if Path(handler.file) != Path(answer)
    ]
    known = "".join(Path(file).read_text(encoding="utf-8") for file in files)
    subjects = dict.fromkeys(step.action.subject for step in scenario.world.steps)
    return {
        subject: f"{subject.partition('-')[0]}-{variant.order + number}"
        for number, subject in enumerate(subjects)
        if subject not in known
    }


def renamed(text: str, names: dict[str, str]) -> str:
    """A text with the orders in it renamed."""
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def world_of(world: WorldSpec, variant: Variant, names: dict[str, str]) -> WorldSpec:
    """The same world in other values."""
    return replace(
        world,
        steps=tuple(_step(step, variant, names) for step in world.steps),
        ledgers=tuple(_ledger(ledger, variant, names) for ledger in world.ledgers),
        rival=renamed(world.rival, names) if world.rival else world.rival,
        approvals=world.approvals and tuple(
            replace(approval, action_digest=digests.get(approval.action_digest, approval.action_digest),
                    subject=renamed(approval.subject, names))
            for digests in [_digests(world, variant, names)] for approval in world.approvals
        ),
    )  # fmt: skip


def _digests(world: WorldSpec, variant: Variant, names: dict[str, str]) -> dict[str, str]:
    return {step.action.digest: _action(step.action, variant, names).digest for step in world.steps}


def _action(action: Action, variant: Variant, names: dict[str, str]) -> Action:
    return replace(
        action,
        subject=renamed(action.subject, names),
        amount_minor=variant.amount(action.amount_minor),
        currency=variant.currency(action.currency),
    )


def _step(step: StepSpec, variant: Variant, names: dict[str, str]) -> StepSpec:
    return replace(
        step,
        action=_action(step.action, variant, names),
        operation_id=renamed(step.operation_id, names),
        workflow_id=renamed(step.workflow_id, names),
        name=renamed(step.name, names),
    )


def _ledger(ledger: LedgerSpec, variant: Variant, names: dict[str, str]) -> LedgerSpec:
    budget = ledger.budget and BudgetPolicy(
        ledger.budget.max_effects,
        tuple((variant.currency(code), variant.amount(cap)) for code, cap in ledger.budget.caps_minor),
    )
    mandates = tuple(
        replace(
            mandate,
            subject=renamed(mandate.subject, names),
            amount_minor=variant.amount(mandate.amount_minor),
            currency=variant.currency(mandate.currency),
        )
        for mandate in ledger.mandates
    )
    return replace(ledger, budget=budget, mandates=mandates)
