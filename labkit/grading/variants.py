"""A world of one's own for every learner: other amounts, another currency, and other orders where they are free.

Values change, the crash points never.  A constant copied from a neighbour does not fit.  A few crash
schedules are the learner's own as well: pairs of crashes, tried beside one crash at every point, so
that an answer cannot be fitted to the schedules that everybody knows.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.grading.stage import Stage
from labkit.harness.specs import LedgerSpec, StepSpec, WorldSpec
from labkit.harness.trials import Scenario
from labkit.values import Action, BudgetPolicy

DRAWN_SCHEDULES = 3
NUMBER = re.compile(r"(?<![\w-])\d[\d_]*(?!\w)")  # but for those in names such as order-1001
CURRENCIES = ("USD", "EUR", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "CAD", "AUD", "NZD")


@dataclass(frozen=True, slots=True)
class Variant:
    """How one learner's world differs: amounts are `factor` times, currencies moved on, orders renamed.

    `draws` are pairs of numbers, one for a crash of the first run, one for a crash of its recovery.
    """

    factor: int
    shift: int
    order: int
    draws: tuple[tuple[int, int], ...] = ()

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
    whose = f"{secret}\0{learner}\0{kata}".encode("utf-8", "backslashreplace")
    drawn = hashlib.sha256(whose).digest()
    crashes = hashlib.shake_256(whose).digest(8 * DRAWN_SCHEDULES)
    numbers = [int.from_bytes(crashes[at : at + 4], "big") for at in range(0, len(crashes), 4)]
    return Variant(
        factor=2 + int.from_bytes(drawn[:2], "big") % 97,
        shift=1 + drawn[2] % (len(CURRENCIES) - 1),
        order=2000 + int.from_bytes(drawn[3:6], "big") % 900_000,
        draws=tuple(zip(numbers[::2], numbers[1::2], strict=True)),
    )


def staged(stage: Stage, variant: Variant) -> Stage:
    """The stage with its exercise in the variant's world, and the variant's crash schedules beside the usual."""

    def exercise(answer: Path) -> Scenario:
        scenario = stage.exercise(answer)
        known = known_by_name(stage, scenario, answer)
        names = free_orders(scenario.world, known, variant)
        return replace(
            scenario,
            world=world_of(scenario.world, fitting(variant, scenario.world, known), names),
            workflow_id=renamed(scenario.workflow_id, names),
        )

    return replace(stage, exercise=exercise, draws=variant.draws)


def known_by_name(stage: Stage, scenario: Scenario, answer: Path) -> str:
    """The text of the kata's checks and of its own workers: what they name has to stay as it is."""
    workers = {Path(handler.file) for handler in (scenario.first, scenario.resume)} - {Path(answer)}
    files = [stage.kata.folder / "checks.py", *sorted(workers)]
    return "".join(file.read_text(encoding="utf-8") for file in files)


def fitting(variant: Variant, world: WorldSpec, known: str) -> Variant:
    """The variant without the amounts, or the currencies, of which one is known by name."""
    values = [(step.action.currency, step.action.amount_minor) for step in world.steps]
    for ledger in world.ledgers:
        values += [(mandate.currency, mandate.amount_minor) for mandate in ledger.mandates]
        values += ledger.budget.caps_minor if ledger.budget else ()
    numbers = {int(number.replace("_", "")) for number in NUMBER.findall(known)}
    codes = set(re.findall(r"\b[A-Z]{3}\b", known))
    return replace(
        variant,
        factor=1 if any(amount and amount in numbers for _, amount in values) else variant.factor,
        shift=0 if any(code in codes for code, _ in values) else variant.shift,
    )


def free_orders(world: WorldSpec, known: str, variant: Variant) -> dict[str, str]:
    """New names for the orders that nobody knows by name."""
    subjects = dict.fromkeys(step.action.subject for step in world.steps)
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
