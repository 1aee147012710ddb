"""The flow that people drive: create, approve, replace, run, each bound to exact bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labkit import canonical
from labkit.boundaries import Boundary
from labkit.errors import Conflict, ForbiddenMove, StaleClaim
from labkit.protocol import flow, views
from labkit.protocol.attempt import first_run
from labkit.stores.journal import new_operation
from labkit.values import Action

ID = "order-1001:charge"
CHEAPER = Action("charge", "order-1001", 3999, "USD")


@pytest.fixture
def fresh(desk: Any) -> Any:
    """A workflow that nobody has approved, at a provider that has permitted nothing."""
    desk.change("journal", "UPDATE operations SET approval_id = NULL")
    desk.change("authority", "DELETE FROM approvals")
    desk.change("ledger", "DELETE FROM mandates")
    return desk


def approve(
    desk: Any, now_ms: int = 500, actor: str = "alice", expires_at_ms: int = 10_000, **terms: Any
) -> None:
    """One approval of what stands there."""
    parties = desk.parties(now_ms, actor=actor)
    flow.approve(parties, desk.ledger, desk.operation, flow.Terms(expires_at_ms, **terms))


def replace(desk: Any, action: Action = CHEAPER) -> None:
    """Another action in the operation's place."""
    flow.replace(desk.parties(600), desk.operation, action)


def run(desk: Any, now_ms: int = 1000, **more: Any) -> str:
    """As far as it may go."""
    return flow.run(desk.parties(now_ms, **more), desk.operation)


def phase(desk: Any) -> str:
    """The name that people are shown."""
    return str(views.summary(desk.parties(), desk.operation)["phase"])


def everything(desk: Any) -> list[str]:
    """Every row of the three stores, as text."""
    return [line for store in (desk.journal, desk.ledger, desk.authority) for line in store.db.iterdump()]


def test_create_stores_the_canonical_bytes_and_their_digest(fresh: Any) -> None:
    """What is written is RFC 8785, whatever the file looked like."""

    action = Action("charge", "order-7", 4000, "USD", (("note", "café"),))
    flow.create(fresh.journal, new_operation("order-7", "order-7", "charge", action), 100)

    [row] = [row for row in fresh.table("operations") if row["operation_id"] == "order-7"]
    assert row["action"].encode() == canonical.canonical_bytes(action.as_json)
    assert (row["action_digest"], row["state"]) == (action.digest, "NOT_ADMITTED")


def test_a_key_that_exists_is_refused_and_nothing_is_left_of_the_try(fresh: Any) -> None:
    """Neither a workflow under a used operation id, nor one under a used name."""

    before = everything(fresh)

    for operation_id, workflow_id in ((ID, "order-8"), ("order-8", "order-1001")):
        with pytest.raises(Conflict):
            flow.create(fresh.journal, new_operation(operation_id, workflow_id, "charge", CHEAPER), 100)
    assert everything(fresh) == before


def test_approve_binds_digest_actor_expiry_and_policy_version(fresh: Any) -> None:
    """And has the provider permit exactly this amount for exactly this subject."""

    assert phase(fresh) == "pending_approval"
    fresh.raise_policy_version()
    approve(fresh)

    approval = fresh.authority.approval(fresh.operation.approval_id)
    assert (approval.action_digest, approval.subject) == (fresh.operation.action_digest, "order-1001")
    assert (approval.actor, approval.expires_at_ms, approval.policy_version) == ("alice", 10_000, 2)
    assert phase(fresh) == "NOT_ADMITTED"
    assert run(fresh, now_ms=2000) == "OUTCOME_VERIFIED"
    assert fresh.authority.admission(ID).approval_id == approval.approval_id


def test_approving_what_one_has_not_seen_is_refused(fresh: Any) -> None:
    """The action was replaced while the person was reading."""

    seen = fresh.operation.action_digest
    replace(fresh)
    before = everything(fresh)

    with pytest.raises(Conflict, match=CHEAPER.digest):
        approve(fresh, seen_digest=seen)
    assert everything(fresh) == before
    approve(fresh, seen_digest=CHEAPER.digest)
    assert phase(fresh) == "NOT_ADMITTED"


def test_a_second_approval_withdraws_the_first(fresh: Any) -> None:
    """One operation waits under one approval; a stray one could be used by nobody knows whom."""

    approve(fresh)
    first = fresh.operation.approval_id
    approve(fresh, now_ms=700, actor="bob")

    assert fresh.authority.approval(first).revoked_at_ms == 700
    assert fresh.authority.approval(fresh.operation.approval_id).actor == "bob"


def test_replacing_voids_the_approval_and_waits_again(fresh: Any) -> None:
    """Back to pending_approval, by one cent; the old approval is withdrawn."""

    approve(fresh)
    approved = fresh.operation.approval_id
    replace(fresh)

    assert phase(fresh) == "pending_approval"
    assert fresh.authority.approval(approved).revoked_at_ms == 600
    with pytest.raises(ForbiddenMove, match="pending_approval"):
        run(fresh)
    assert (fresh.effects, len(fresh.events("move_refused"))) == ([], 1)

    approve(fresh, now_ms=800)
    assert run(fresh) == "OUTCOME_VERIFIED"
    assert [row["amount_minor"] for row in fresh.effects] == [3999]


def test_replacing_by_the_same_bytes_changes_nothing(fresh: Any) -> None:
    """The approval was of these bytes, and still is."""

    approve(fresh)
    before = everything(fresh)
    replace(fresh, fresh.operation.action)

    assert everything(fresh) == before


def test_a_worker_that_still_holds_the_old_action_is_stopped(fresh: Any) -> None:
    """It had read the operation before the action was replaced, and wakes after the new approval."""

    approve(fresh)
    parties, old = fresh.parties(), fresh.operation
    seen = parties.journal.workflow("order-1001")
    replace(fresh)
    approve(fresh, now_ms=800)

    with pytest.raises(StaleClaim):
        parties.claim(seen, "order-1001")
    assert first_run(fresh.parties(), old) == "NEEDS_REAUTHORISATION"  # a bolder one, without the check
    assert fresh.effects == []


def test_what_was_admitted_keeps_its_bytes(fresh: Any) -> None:
    """Refused by the provider, it waits; but it entered as what it is."""

    approve(fresh, grants_mandate=False)
    assert run(fresh) == "NEEDS_REAUTHORISATION"

    with pytest.raises(Conflict, match="admitted already"):
        replace(fresh)


def test_an_approval_without_a_mandate_is_refused_by_the_provider(fresh: Any) -> None:
    """Approver and provider are two; the second approval brings the mandate, under the first admission."""

    approve(fresh, grants_mandate=False)
    admitted_under = fresh.operation.approval_id

    assert run(fresh) == "NEEDS_REAUTHORISATION"
    assert fresh.events("moved")[-1]["evidence"]["reason"] == "mandate_missing"
    with pytest.raises(Conflict, match="admitted under"):
        approve(fresh, grants_mandate=False)
    approve(fresh, now_ms=20_000, actor="bob")
    assert run(fresh, now_ms=21_000) == "OUTCOME_VERIFIED"
    assert fresh.authority.admission(ID).approval_id == admitted_under
    assert fresh.events("approved")[-1] == {"operation_id": ID, "actor": "bob", "mandate": True}


def test_an_expired_approval_is_renewed(fresh: Any) -> None:
    """Never admitted, so that a fresh one is needed and enough."""

    approve(fresh)
    assert run(fresh, now_ms=10_001) == "NEEDS_REAUTHORISATION"
    approve(fresh, now_ms=11_000, expires_at_ms=12_000)
    assert run(fresh, now_ms=12_000) == "OUTCOME_VERIFIED"


STEPS: dict[str, Callable[[Any], None]] = {"approve": approve, "replace": replace}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize(
    "state",
    ["ADMITTED", "EFFECT_PENDING", "EFFECT_COMMITTED", "UNKNOWN_OUTCOME", "OUTCOME_VERIFIED", "ABANDONED"],
)
def test_what_does_not_wait_for_a_person_is_left_alone(
    fresh: Any, state: str, step: Callable[[Any], None]
) -> None:
    """Neither approved again nor replaced, and no row changes."""

    fresh.put_in_state(state)
    before = everything(fresh)

    with pytest.raises(ForbiddenMove, match=state):
        step(fresh)
    assert everything(fresh) == before


def test_a_run_starts_where_nobody_was_asked_and_recovers_everywhere_else(desk: Any) -> None:
    """The same command; the receipts tell which of the two it was."""

    desk.first_dies_at(Boundary.INTENT_RECORDED)  # claimed, and nobody was asked
    assert run(desk) == "OUTCOME_VERIFIED"
    assert desk.receipts == []
    assert run(desk, now_ms=2000) == "OUTCOME_VERIFIED"
    assert [it["decision"] for it in desk.receipts] == ["complete"]


def test_a_run_after_a_crash_between_two_owners_recovers(desk: Any) -> None:
    """The approver has admitted it, the journal has not heard: not a first run any more."""

    desk.do("authority", lambda it: it.admit(ID, desk.operation.action_digest, "approval-1", 900))

    assert run(desk, now_ms=20_000) == "OUTCOME_VERIFIED"
    assert [it["authority"] for it in desk.receipts] == ["admitted"]


def test_looking_changes_nothing(desk: Any) -> None:
    """The summary asks all three owners, and the timeline the journal; no row moves."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    before = everything(desk)

    found = views.summary(desk.parties(), desk.operation)
    views.timeline(desk.journal, "order-1001")

    assert (found["state"], found["effect"]["status"]) == ("EFFECT_PENDING", "committed")
    assert everything(desk) == before
