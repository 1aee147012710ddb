"""What a key stands for: faults of other people's systems, made small, and the handler that is right beside each."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from labkit.actions import Action
from labkit.grading.sweeping import Request, sweep
from labkit.harness.pool import Pool
from labkit.observations import Sweep
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic

HEAD = """
import hashlib
from dataclasses import replace
from labkit.harness.trials import Handler, Scenario
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec, one_charge
from labkit.kata import Action, atomic, new_operation
from pathlib import Path

def scenario(world):
    return Scenario("it", world, Handler(Path(__file__), "handler"), Handler(Path(__file__), "handler"))

def checkpoint(world, operation, receipt):
    if receipt is not None and not operation.checkpointed:
        with atomic(world.journal.db):
            world.journal.checkpoint(operation.operation_id, receipt, world.now_ms)
"""


def swept(pool: Pool, tmp_path: Path, body: str) -> Sweep:
    """A handler, first and after every crash, killed at every statement and boundary."""
    file = tmp_path / "handler.py"
    file.write_text(HEAD + textwrap.dedent(body), encoding="utf-8")
    return sweep(Request(str(file), points=("boundary", "statement")), pool)


# --- the key of an intent -------------------------------------------------------------------


def pays(key: str, payload: str) -> str:
    """A handler that submits and checkpoints whatever it has not checkpointed yet."""
    return f"""
    crash_scenario = scenario(one_charge())

    def handler(world):
        operation = world.operation()
        if operation.checkpointed:
            return "done"
        paid = world.payments.submit({key}, {payload})
        checkpoint(world, operation, paid.receipt)
        return paid.status
    """


KEYS = {
    "of the intent": ("operation.operation_id", {"exactly_one"}),
    "of a payload with the time in it": (
        "hashlib.sha256(f'{operation.action.digest} {world.now_ms}'.encode()).hexdigest()",
        {"exactly_one", "duplicate"},
    ),
    "of the attempt": ("f'{operation.operation_id}:{world.run_number}'", {"exactly_one", "duplicate"}),
}


@pytest.mark.parametrize(("key", "verdicts"), KEYS.values(), ids=KEYS)
def test_one_intent_has_one_key_whenever_and_however_often_it_is_tried(
    pool: Pool, tmp_path: Path, key: str, verdicts: set[str]
) -> None:
    assert swept(pool, tmp_path, pays(key, "operation.action")).verdicts == verdicts


PAYLOADS = {
    "frozen with the key": ("operation.action", {"exactly_one"}),
    "made anew with a time in it": (
        "replace(operation.action, details=(('due', str(world.now_ms + 1000)),))",
        {"exactly_one", "orphan_effect", "stuck"},
    ),
}


@pytest.mark.parametrize(("payload", "verdicts"), PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_that_drifts_is_a_conflict_for_ever_and_a_frozen_one_never(
    pool: Pool, tmp_path: Path, payload: str, verdicts: set[str]
) -> None:
    found = swept(pool, tmp_path, pays("operation.operation_id", payload))

    assert found.verdicts <= verdicts
    assert found.passed == (verdicts == {"exactly_one"})


# --- compensation ---------------------------------------------------------------------------

REFUNDS = {"under an id of its own": '"order-1001:refund"', "without one": "None"}


@pytest.mark.parametrize("refund_id", REFUNDS.values(), ids=REFUNDS)
def test_a_refund_is_an_effect_like_any_other(pool: Pool, tmp_path: Path, refund_id: str) -> None:
    """With an id, a receipt and a checkpoint a finished refund does not run again on resume; without, it does."""
    body = f"""
    charge = one_charge().steps[0]
    refund = StepSpec(Action("refund", "order-1001", 4000, "USD"), "order-1001:refund", name="refund")
    crash_scenario = scenario(WorldSpec((charge, refund), (LedgerSpec(mandate_required=False),)))

    def handler(world):
        for step, key in (("charge", "order-1001:charge"), ("refund", {refund_id})):
            operation = world.operation(step)
            if not operation.checkpointed:
                checkpoint(world, operation, world.payments.submit(key, operation.action).receipt)
        return "refunded"
    """

    found = swept(pool, tmp_path, body)

    assert found.passed == (refund_id != "None")
    assert ("duplicate" in found.verdicts) == (refund_id == "None")


# --- an effect before a gate ----------------------------------------------------------------


@pytest.mark.parametrize(("has_id", "effects"), [(True, 3), (False, 9)])
def test_a_body_before_a_gate_runs_again_at_each_resume(tmp_path: Path, has_id: bool, effects: int) -> None:
    """Three approvals in a loop: what stands before the gate repeats, and only a stable id makes it one effect."""
    ledger = Ledger.create(tmp_path / "ledger.sqlite3", mandate_required=False)

    def body(approvals: int) -> str:
        for number in range(3):
            action = Action("notify", f"order-{number}")
            with atomic(ledger.db):
                ledger.submit(f"order-{number}:notify" if has_id else None, action, 0, 1)
            if number >= approvals:
                return "waiting"
        return "done"

    assert [body(approvals) for approvals in range(4)] == ["waiting", "waiting", "waiting", "done"]

    assert sum(len(ledger.effects_of(f"order-{number}", "notify")) for number in range(3)) == effects
    ledger.db.close()
