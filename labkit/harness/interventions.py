"""What may happen to a world between two runs: permission withdrawn, policy raised, journal lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from labkit.errors import UnknownName
from labkit.harness.specs import AUTHORITY_FILE, StepSpec, describe, operation_of
from labkit.stores.authority import Authority
from labkit.stores.engine import SIDE_FILES
from labkit.stores.journal import Journal
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action


def revoke_mandate(folder: Path, now_ms: int) -> None:
    """The provider's permission is withdrawn for every subject."""
    for ledger_spec in describe(folder)["ledgers"]:
        ledger = Ledger.open(folder / ledger_spec["file"])
        with atomic(ledger.db):
            for mandate in ledger_spec["mandates"]:
                ledger.revoke_mandate(mandate["subject"], now_ms)
        ledger.db.close()


def revoke_first_mandate(folder: Path, now_ms: int) -> None:
    """The first subject withdraws its permission; the others keep theirs."""
    ledger_spec = describe(folder)["ledgers"][0]
    ledger = Ledger.open(folder / ledger_spec["file"])
    with atomic(ledger.db):
        ledger.revoke_mandate(ledger_spec["mandates"][0]["subject"], now_ms)
    ledger.db.close()


def raise_policy_version(folder: Path, now_ms: int) -> None:
    """The approver tightens its policy: approvals of the older version are stale."""
    authority = Authority.open(folder / AUTHORITY_FILE)
    with atomic(authority.db):
        authority.raise_policy_version(now_ms)
    authority.db.close()


def lose_journal(folder: Path, now_ms: int) -> None:
    """The journal is replaced by one that knows only the intents that were recorded at the start."""
    spec = describe(folder)
    path = folder / spec["journal_file"]
    for name in ("", *SIDE_FILES):
        path.with_name(path.name + name).unlink(missing_ok=True)
    with atomic((journal := Journal.create(path)).db):
        for workflow_id in dict.fromkeys(step["workflow_id"] for step in spec["steps"]):
            journal.begin(workflow_id, spec["code_path"], now_ms)
        for step in (step for step in spec["steps"] if step["state"] is not None):
            journal.intend(
                operation_of(StepSpec(**{**step, "action": Action.from_json(_details(step))})), now_ms
            )
    journal.db.close()


def _details(step: dict[str, Any]) -> dict[str, Any]:
    return {**step["action"], "details": dict(step["action"]["details"])}


Intervention = Callable[[Path, int], None]
INTERVENTIONS: dict[str, Intervention] = {
    "revoke_mandate": revoke_mandate,
    "revoke_first_mandate": revoke_first_mandate,
    "raise_policy_version": raise_policy_version,
    "lose_journal": lose_journal,
}


def intervene(folder: Path, name: str, now_ms: int) -> None:
    """Carry out one named intervention.  Raises: UnknownName."""
    if name not in INTERVENTIONS:
        raise UnknownName(f"intervention {name} is not known", f"choose one of {', '.join(INTERVENTIONS)}")
    INTERVENTIONS[name](folder, now_ms)
