"""The workflow's own record: identity before the call, claims that fence, nothing lost or taken twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from labkit import canonical
from labkit.errors import Conflict, StaleClaim, UnknownName
from labkit.stores import chain, sqlite
from labkit.stores.journal import Journal, new_operation
from labkit.stores.sqlite import atomic
from labkit.values import Action, Operation, Reading, Receipt, RecoveryReceipt

CHARGE = Action("charge", "order-1001", 4000, "USD", (("memo", "first"),))
OPERATION = new_operation("order-1001:charge", "order-1001", "charge", CHARGE)
RECEIPT = Receipt(
    "payments", 7, "order-1001:charge", CHARGE.digest, "charge", "order-1001", 4000, "USD", 1, 1000, "d" * 64
)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal that holds one workflow with one intended charge."""
    journal = Journal.create(tmp_path / "journal.sqlite3")
    with atomic(journal.db):
        journal.begin("order-1001", "charge/1", 0)
        journal.intend(OPERATION, 0)
    yield journal
    journal.db.close()


def events(journal: Journal) -> list[tuple[str, dict[str, object]]]:
    """Kind and body of every event, in order."""
    found = sqlite.rows(journal.db, "SELECT * FROM events ORDER BY sequence")
    assert chain.first_break(found) is None
    return [(event["kind"], chain.body_of(event)) for event in found]


def in_state(journal: Journal, state: str) -> Operation:
    """The operation, set to a state by raw SQL: how it came there is not what is tested."""
    journal.db.execute("UPDATE operations SET state = ?", (state,))
    return journal.operation(OPERATION.operation_id)


def test_an_operation_is_read_back_as_it_was_intended(journal: Journal) -> None:
    """Identity, exact action and defaults survive the file."""

    assert journal.operation("order-1001:charge") == OPERATION
    assert journal.step("order-1001", "charge") == OPERATION
    assert journal.workflow("order-1001").operations == (OPERATION,)


def test_the_stored_action_is_its_canonical_bytes(journal: Journal) -> None:
    """What a person approved and what is kept are the same bytes."""

    stored = journal.db.execute("SELECT action FROM operations").fetchone()[0]

    assert canonical.canonical_bytes(CHARGE.as_json) == stored.encode()


def test_nothing_is_committed_behind_the_readers_back(tmp_path: Path, journal: Journal) -> None:
    """Every method writes inside the caller's transaction and leaves it open."""

    with pytest.raises(ZeroDivisionError), atomic(journal.db):
        undo(journal)

    assert events(journal)[:1] == [("begun", {"code_path": "charge/1"})]
    assert len(events(journal)) == 2
    assert (journal.operation("order-1001:charge"), journal.workflow("order-1001").epoch) == (OPERATION, 0)


def undo(journal: Journal) -> None:
    """Call every writing method, then fail."""
    attempt = journal.start_attempt("order-1001:charge", 1, 1000)
    journal.claim("order-1001", 0, "worker-1", 1000)
    journal.move("order-1001:charge", "ADMITTED", {}, 1000)
    journal.finish_attempt(attempt, "committed")
    journal.count_retry("order-1001:charge")
    journal.observe("order-1001:charge", Reading("absent", None, "payments", 1000))
    journal.checkpoint("order-1001:charge", RECEIPT, 1000)
    journal.bind_approval("order-1001:charge", "approval-1", 1000)
    journal.begin("order-1002", "charge/1", 1000)
    raise ZeroDivisionError


def test_a_workflow_begins_once(journal: Journal) -> None:
    """A second `begin` would mix two histories."""

    with pytest.raises(Conflict, match="order-1001 exists already"), atomic(journal.db):
        journal.begin("order-1001", "charge/1", 5)


TAKEN = {
    "the same id": replace(OPERATION, step="notice"),
    "the same id for another action": new_operation("order-1001:charge", "order-1001", "other", Action("refund", "order-1001")),
    "the same step": replace(OPERATION, operation_id="order-1001:charge:2"),
}  # fmt: skip


@pytest.mark.parametrize("operation", TAKEN.values(), ids=TAKEN)
def test_an_identity_is_bound_once(journal: Journal, operation: Operation) -> None:
    """Neither an operation id nor a step of a workflow gets a second meaning; the first stays."""

    with pytest.raises(Conflict, match="or its step is recorded already"), atomic(journal.db):
        journal.intend(operation, 5)
    assert journal.workflow("order-1001").operations == (OPERATION,)


def test_an_intent_needs_its_workflow(journal: Journal) -> None:
    """It is not mistaken for an operation that is there already."""

    with pytest.raises(UnknownName, match="workflow order-9 is not in the journal"), atomic(journal.db):
        journal.intend(replace(OPERATION, operation_id="order-9:charge", workflow_id="order-9"), 5)


def test_every_claim_raises_version_and_epoch_also_by_the_same_owner(journal: Journal) -> None:
    """An owner that comes back is another incarnation: its old number is stale."""

    epochs = []
    for version in range(3):
        with atomic(journal.db):
            epochs.append(journal.claim("order-1001", version, "worker", 1000))
    workflow = journal.workflow("order-1001")

    assert (epochs, workflow.version, workflow.epoch, workflow.owner) == ([1, 2, 3], 3, 3, "worker")


def test_a_claim_is_a_compare_and_swap(journal: Journal) -> None:
    """Of two that read the same version one wins; the other changes nothing and is told."""

    with atomic(journal.db):
        journal.claim("order-1001", 0, "first", 1000)
    with pytest.raises(StaleClaim, match="has moved past version 0"), atomic(journal.db):
        journal.claim("order-1001", 0, "second", 1000)
    workflow = journal.workflow("order-1001")

    assert (workflow.version, workflow.epoch, workflow.owner) == (1, 1, "first")
    assert [event for event in events(journal) if event[0] == "claimed"] == [
        ("claimed", {"owner": "first", "epoch": 1})
    ]


def test_no_prior_version_is_a_value_in_the_compare_and_swap(journal: Journal) -> None:
    """A plan that was made when nobody had claimed yet does not apply twice."""

    assert (journal.workflow("order-1001").version, journal.workflow("order-1001").owner) == (0, None)
    for expected, name in ((0, "claimed once"), (0, "not again")):
        refused = name == "not again"
        try:
            with atomic(journal.db):
                journal.claim("order-1001", expected, "worker", 1000)
        except StaleClaim:
            assert refused
        else:
            assert not refused


def test_a_claim_can_rise_above_what_the_provider_has_heard_of(journal: Journal) -> None:
    """A journal that was lost and begun again must not hand out numbers that are stale already."""

    with atomic(journal.db):
        assert journal.claim("order-1001", 0, "worker", 1000, above=7) == 8
    with atomic(journal.db):
        assert journal.claim("order-1001", 1, "worker", 1000, above=3) == 9


def test_a_claim_of_nothing_is_no_stale_claim(journal: Journal) -> None:
    """There is nobody to have been faster."""

    with pytest.raises(UnknownName, match="workflow order-9"), atomic(journal.db):
        journal.claim("order-9", 0, "worker", 1000)


def test_only_the_current_epoch_may_write(journal: Journal) -> None:
    """Neither the one before nor one that was never granted."""

    with atomic(journal.db):
        journal.claim("order-1001", 0, "worker", 1000)
    journal.require_epoch("order-1001", 1)
    for epoch in (0, 2):
        with pytest.raises(StaleClaim, match=f"is at epoch 1, not {epoch}"):
            journal.require_epoch("order-1001", epoch)


@pytest.mark.parametrize("state", ["NOT_ADMITTED", "NEEDS_REAUTHORISATION"])
def test_replacing_the_action_drops_its_approval(journal: Journal, state: str) -> None:
    """A person approved other bytes; the step waits for a person again."""

    with atomic(journal.db):
        journal.bind_approval("order-1001:charge", "approval-1", 1)
        in_state(journal, state)
        journal.replace_action("order-1001:charge", replace(CHARGE, amount_minor=4001), 2)
    operation = journal.operation("order-1001:charge")

    assert (operation.state, operation.approval_id, operation.action.amount_minor) == (
        "NOT_ADMITTED",
        None,
        4001,
    )
    assert operation.action.digest == operation.action_digest


@pytest.mark.parametrize(
    "state",
    ["ADMITTED", "EFFECT_PENDING", "EFFECT_COMMITTED", "OUTCOME_VERIFIED", "UNKNOWN_OUTCOME", "ABANDONED"],
)
def test_an_action_that_somebody_may_have_begun_is_not_replaced(journal: Journal, state: str) -> None:
    """The operation id is bound to the meaning of the request."""

    in_state(journal, state)
    with pytest.raises(Conflict, match=f"order-1001:charge is {state}"), atomic(journal.db):
        journal.replace_action("order-1001:charge", replace(CHARGE, amount_minor=1), 2)
    assert journal.operation("order-1001:charge").action == CHARGE


def test_a_move_is_kept_with_its_evidence(journal: Journal) -> None:
    """From, to and why, in one event, in the same commit as the state."""

    with atomic(journal.db):
        journal.move("order-1001:charge", "ADMITTED", {"because": "approved"}, 2)

    expected = {
        "operation_id": "order-1001:charge",
        "from": "NOT_ADMITTED",
        "to": "ADMITTED",
        "evidence": {"because": "approved"},
    }
    assert ("moved", expected) == events(journal)[-1]
    assert journal.operation("order-1001:charge").state == "ADMITTED"


def test_a_checkpoint_takes_the_callers_word_and_keeps_the_receipt(journal: Journal) -> None:
    """It is a belief: with a receipt where there is one, without where there is none."""

    in_state(journal, "EFFECT_PENDING")
    with atomic(journal.db):
        journal.checkpoint("order-1001:charge", RECEIPT, 1000)
    row = sqlite.rows(journal.db, "SELECT * FROM checkpoints")[0]
    operation = journal.operation("order-1001:charge")

    assert (row["operation_id"], row["effect_id"], row["receipt_digest"], row["at_ms"]) == (
        "order-1001:charge",
        7,
        "d" * 64,
        1000,
    )
    assert (operation.checkpointed, operation.state) == (True, "EFFECT_COMMITTED")


def test_a_checkpoint_without_a_receipt_says_so(journal: Journal) -> None:
    """What was claimed without evidence can be told apart later."""

    with atomic(journal.db):
        journal.checkpoint("order-1001:charge", None, 1000)
    row = sqlite.rows(journal.db, "SELECT * FROM checkpoints")[0]

    assert (row["operation_id"], row["effect_id"], row["receipt_digest"]) == ("order-1001:charge", None, None)


def test_a_checkpoint_belongs_to_its_own_workflow(journal: Journal) -> None:
    """Another workflow with a step of the same name is not done by it."""

    other = Action("charge", "order-1002", 4000, "USD")
    with atomic(journal.db):
        journal.begin("order-1002", "charge/1", 0)
        journal.intend(new_operation("order-1002:charge", "order-1002", "charge", other), 0)
        journal.checkpoint("order-1002:charge", None, 1000)

    assert tuple(
        journal.operation(f"{name}:charge").checkpointed for name in ("order-1001", "order-1002")
    ) == (False, True)


REFUSALS = {"mandate_missing": "NEEDS_REAUTHORISATION", "mandate_revoked": "NEEDS_REAUTHORISATION",
            "mandate_mismatch": "NEEDS_REAUTHORISATION", "budget_action_limit": "ABANDONED",
            "budget_currency_limit": "ABANDONED", "key_conflict": "ABANDONED"}  # fmt: skip


@pytest.mark.parametrize(("reason", "state"), REFUSALS.items())
def test_a_refusal_on_authority_waits_and_any_other_ends(journal: Journal, reason: str, state: str) -> None:
    """A fresh permission can heal the one and not the other; the reason is kept."""

    with atomic(journal.db):
        journal.refuse("order-1001:charge", reason, 1000)

    assert (state, {"refused": reason}) == (
        journal.operation("order-1001:charge").state,
        events(journal)[-1][1]["evidence"],
    )


def test_an_attempt_is_recorded_before_the_call_and_its_answer_after(journal: Journal) -> None:
    """An attempt without an outcome is one whose answer nobody heard."""

    with atomic(journal.db):
        first, second = (journal.start_attempt("order-1001:charge", epoch, 1000) for epoch in (1, 2))
        journal.finish_attempt(second, "committed")
    found = sqlite.rows(journal.db, "SELECT attempt_id, epoch, outcome FROM attempts")

    assert [(first, 1, None), (second, 2, "committed")] == [tuple(row.values()) for row in found]


def test_a_retry_is_counted_durably(journal: Journal) -> None:
    """The cap survives the process that used it up."""

    with atomic(journal.db):
        journal.count_retry("order-1001:charge")
        journal.count_retry("order-1001:charge")

    assert journal.operation("order-1001:charge").retries == 2


def test_a_belief_is_kept_with_its_source_and_time(journal: Journal) -> None:
    """`last_observed_status` never stands alone."""

    with atomic(journal.db):
        journal.observe("order-1001:charge", Reading("absent", None, "payments", 2000))
    operation = journal.operation("order-1001:charge")

    assert (operation.last_observed_status, operation.observed_at_ms, operation.source) == (
        "absent",
        2000,
        "payments",
    )


def test_a_recovery_receipt_is_kept_under_its_digest(journal: Journal) -> None:
    """Whoever changes it later leaves a digest that does not fit."""

    receipt = RecoveryReceipt(
        "order-1001", 1, 1, "order-1001:charge", CHARGE.digest, "worker-2", "order-1001", "charge", "admitted",
        "approval-1", 1, 9000, "payments", "committed", 2000, "complete", "the effect is there", "d" * 64, True,
        None, None, None,
    )  # fmt: skip
    with atomic(journal.db):
        journal.record_recovery(receipt, 2000)
    row = sqlite.rows(journal.db, "SELECT * FROM recovery_receipts")[0]

    assert (
        canonical.digest(chain.json_of(row["receipt"])) == row["digest"] == events(journal)[-1][1]["digest"]
    )
    assert tuple(chain.json_of(row["receipt"])[name] for name in ("decision", "operation_id")) == (
        "complete",
        "order-1001:charge",
    )


def unknown(journal: Journal) -> dict[str, object]:
    """Every call that names an operation, with one that is not there."""
    name = "order-9:charge"
    return {
        "read": lambda: journal.operation(name),
        "move": lambda: journal.move(name, "ADMITTED", {}, 1),
        "observe": lambda: journal.observe(name, Reading("absent", None, "payments", 1)),
        "checkpoint": lambda: journal.checkpoint(name, None, 1),
        "refuse": lambda: journal.refuse(name, "mandate_missing", 1),
        "count_retry": lambda: journal.count_retry(name),
        "bind_approval": lambda: journal.bind_approval(name, "approval-1", 1),
        "replace_action": lambda: journal.replace_action(name, CHARGE, 1),
        "finish_attempt": lambda: journal.finish_attempt(99, "committed"),
        "workflow": lambda: journal.workflow("order-9"),
    }


CALLS = ["read", "move", "observe", "checkpoint", "refuse", "count_retry", "bind_approval", "replace_action",
         "finish_attempt", "workflow"]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_write_that_matches_nothing_is_not_acknowledged(journal: Journal, call: str) -> None:
    """Zero rows updated is an error that names what is not there, never a success."""

    with pytest.raises(UnknownName, match="is not in the journal"), atomic(journal.db):
        unknown(journal)[call]()  # type: ignore[operator]
    assert len(events(journal)) == 2


def test_a_step_without_an_intent_is_none(journal: Journal) -> None:
    """Not an error: the worker has to record it."""

    assert journal.step("order-1001", "notice") is None


def test_the_schema_is_strict(journal: Journal) -> None:
    """A text where a number belongs is refused by the file itself."""

    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT value in INTEGER column"):
        journal.db.execute("UPDATE workflows SET epoch = 'two'")
