"""What a world is made of: its steps, ledgers and approvals, as a frozen value and as `world.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import BadStore
from labkit.stores.journal import new_operation
from labkit.values import Action, Approval, BudgetPolicy, Mandate, Operation

DESCRIPTION = "world.json"
AUTHORITY_FILE = "authority.sqlite3"


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One effect that a workflow is to have.  `state` is what the prepared journal says of it.

    With `state=None` no intent is recorded: the worker has to do that itself.
    """

    action: Action
    operation_id: str
    workflow_id: str = "order-1001"
    name: str = "charge"
    ledger: str = "payments"
    state: str | None = "EFFECT_PENDING"
    approval_id: str | None = None
    idempotent: bool = True
    max_retries: int = 3


@dataclass(frozen=True, slots=True)
class LedgerSpec:
    """One provider's ledger: its file, what it permits, and its caps."""

    name: str = "payments"
    file: str = "ledger.sqlite3"
    mandates: tuple[Mandate, ...] = ()
    mandate_required: bool = True
    budget: BudgetPolicy | None = None


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """Everything that a prepared world holds.

    `rival` names one of its workflows: from the second run of any other on, the same worker works on
    that one in a second process, right before the first one's transaction begins (`harness.rivals`).
    """

    steps: tuple[StepSpec, ...]
    ledgers: tuple[LedgerSpec, ...] = (LedgerSpec(),)
    approvals: tuple[Approval, ...] | None = None
    journal_file: str = "journal.sqlite3"
    code_path: str = "charge/1"
    rival: str | None = None

    @property
    def intents(self) -> tuple[tuple[str, str, str], ...]:
        """What should happen exactly once: (ledger, kind, subject) of each step."""
        found = {(step.ledger, step.action.kind, step.action.subject): None for step in self.steps}
        return tuple(found)

    @property
    def as_json(self) -> dict[str, Any]:
        """The content of `world.json`."""
        return asdict(self)


FIELDS = frozenset(field.name for field in fields(WorldSpec))


def one_charge(
    operation_id: str = "order-1001:charge",
    amount_minor: int = 4000,
    budget: BudgetPolicy | None = None,
    **step: Any,
) -> WorldSpec:
    """The world of most lessons: one charge of 4,000 minor units for order-1001, permitted exactly."""
    action = Action("charge", "order-1001", amount_minor, "USD")
    mandate = Mandate(action.subject, action.amount_minor, action.currency)
    return WorldSpec(
        steps=(StepSpec(action, operation_id, **step),),
        ledgers=(LedgerSpec(mandates=(mandate,), budget=budget),),
    )


def operation_of(step: StepSpec) -> Operation:
    """The operation that the prepared journal holds for a step.  `state` must be set."""
    return new_operation(
        step.operation_id, step.workflow_id, step.name, step.action, ledger=step.ledger, state=step.state,
        approval_id=step.approval_id, idempotent=step.idempotent, max_retries=step.max_retries,
    )  # fmt: skip


def describe(folder: Path) -> Mapping[str, Any]:
    """The content of a world's `world.json`.  Raises: BadStore."""
    try:
        found = _read((folder / DESCRIPTION).read_bytes())
    except (OSError, ValueError) as error:
        raise BadStore(
            f"{folder / DESCRIPTION} cannot be read ({error})", "name a folder that labkit made"
        ) from None
    if not isinstance(found, dict) or not found.keys() >= FIELDS:
        raise BadStore(f"{folder / DESCRIPTION} describes no world", "name a folder that labkit made")
    return found


@lru_cache(maxsize=32)  # all worlds of a sweep have the same one, and a forked child finds it read
def _read(content: bytes) -> object:
    return json.loads(content.decode())
