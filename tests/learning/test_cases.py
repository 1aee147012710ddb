"""A step whose intent nobody recorded: over with the rest of its workflow, or still to come."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import canonical
from labkit.learning.cases import case_of
from labkit.learning.judge import judge_case
from labkit.observations import Observation, Row, Snapshot
from labkit.values import Action

CHARGE = Action("charge", "order-1001", 4000, "USD")
NOTICE = Action("notify", "order-1001")
INTENT = ("messages", "notify", "order-1001")


def operation(state: str, action: Action = CHARGE, ledger: str = "payments") -> Row:
    """A row of the journal's operations."""
    return {"operation_id": f"{action.subject}:{action.kind}", "workflow_id": action.subject, "step": action.kind,
            "ledger": ledger, "state": state, "action": canonical.canonical_bytes(action.as_json).decode(),
            "action_digest": action.digest, "idempotent": 1}  # fmt: skip


def world(*operations: Row, checkpointed: tuple[str, ...] = ()) -> Snapshot:
    """A journal with these operations and checkpoints of these steps; no notice was sent."""
    ok = [{"integrity_check": "ok"}]
    checkpoints = [
        {"workflow_id": "order-1001", "step": step, "operation_id": f"order-1001:{step}", "effect_id": 1}
        for step in checkpointed
    ]
    ledger: dict[str, Any] = {
        "policy": [{"name": "messages", "mandate_required": 0, "max_effects": None}],
        "currency_caps": [], "mandates": [], "effects": [], "integrity": ok,
    }  # fmt: skip
    journal = {
        "operations": list(operations),
        "checkpoints": checkpoints,
        "events": [],
        "recovery_receipts": [],
    }
    return {"journal": {**journal, "integrity": ok}, "messages": ledger}


CASES = {
    "the rest is verified": (world(operation("OUTCOME_VERIFIED")), "lost"),
    "the rest has its checkpoint": (world(operation("EFFECT_COMMITTED"), checkpointed=("charge",)), "lost"),
    "the rest is still under way": (world(operation("EFFECT_PENDING")), "stuck"),
    "one of the rest is still under way": (
        world(operation("OUTCOME_VERIFIED"), operation("EFFECT_PENDING", Action("ship", "order-1001"), "labels")),
        "stuck",
    ),
    "only other orders are over": (
        world(operation("OUTCOME_VERIFIED", Action("charge", "order-2", 1, "USD"))),
        "stuck",
    ),
    "nothing at all was recorded": (world(), "stuck"),
    "its own intent was recorded": (
        world(operation("OUTCOME_VERIFIED"), operation("EFFECT_PENDING", NOTICE, "messages")),
        "stuck",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "verdict"), CASES.values(), ids=CASES.keys())
def test_an_effect_that_nobody_will_come_back_for_is_lost(rows: Snapshot, verdict: str) -> None:
    """Over is what the journal says: where it holds no open step, no reader of it will send the notice."""

    found = judge_case(case_of(Observation("hand-made", "none", (INTENT,), (), None, rows), INTENT))

    assert found.name == verdict


def test_the_sentence_names_what_the_journal_knows() -> None:
    rows = world(operation("OUTCOME_VERIFIED"))

    found = judge_case(case_of(Observation("hand-made", "none", (INTENT,), (), None, rows), INTENT))

    assert found.because == "journal: all that it knows of order-1001 is over (charge); messages: no notify"
