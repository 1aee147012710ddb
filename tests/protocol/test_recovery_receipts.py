"""Recovery receipts whole: what each decision leaves for somebody who was not there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit import canonical
from labkit.boundaries import Boundary


def expected(desk: Any, **differs: Any) -> dict[str, Any]:
    """The receipt of a resume at 2000 ms after a first run that was admitted, with what differs."""
    return {
        "workflow_id": "order-1001",
        "version_claimed": 2,
        "epoch": 2,
        "operation_id": "order-1001:charge",
        "action_digest": desk.operation.action.digest,
        "actor": "resumer",
        "represented_subject": "order-1001",
        "purpose": "charge",
        "authority": "admitted",
        "approval_id": "approval-1",
        "policy_version": 1,
        "expires_at_ms": 10_000,
        "readback_source": "payments",
        "readback_status": "absent",
        "readback_at_ms": 2000,
        "effect_receipt_digest": None,
        "postcondition_holds": None,
        "remaining_uncertainty": None,
        "uncertainty_owner": None,
        "release_condition": None,
        **differs,
    }


def test_one_that_executed_binds_the_effect_it_brought_about(desk: Any) -> None:
    """The readback says absent, and the receipt is of the effect that followed."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.resume()

    assert desk.receipts == [
        expected(
            desk,
            decision="execute",
            because="no effect, and this very operation may have one",
            effect_receipt_digest=desk.effects[0]["receipt_digest"],
            postcondition_holds=True,
        )
    ]


def test_one_that_completed_binds_the_effect_it_found(desk: Any) -> None:
    """After expiry: the prior admission is what it rests on."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    desk.resume(20_000)

    assert desk.receipts == [
        expected(
            desk,
            decision="complete",
            because="the effect is there: verify the postcondition, call nothing that changes it",
            readback_status="committed",
            readback_at_ms=20_000,
            effect_receipt_digest=desk.effects[0]["receipt_digest"],
            postcondition_holds=True,
        )
    ]


def test_one_that_stopped_for_authority_names_what_was_missing(desk: Any) -> None:
    """Nothing is uncertain: there is no effect, and none may be had."""

    desk.first_dies_at(Boundary.INTENT_RECORDED)
    desk.resume(20_000)

    assert desk.receipts == [
        expected(
            desk,
            decision="reauthorise",
            because="no effect, and the permission for one is gone",
            authority="expired",
            readback_at_ms=20_000,
        )
    ]


def test_one_that_cannot_know_says_who_could_and_what_would_settle_it(empty_desk: Any) -> None:
    """No key, no readback: the uncertainty has an owner and a release condition."""

    desk = empty_desk.prepare(idempotent=False)
    desk.first_dies_at(Boundary.DISPATCHED)

    assert desk.resume() == "UNKNOWN_OUTCOME"
    assert desk.receipts == [
        expected(
            desk,
            decision="reconcile",
            because="nobody can tell yet whether the effect happened",
            readback_source="no key to ask by",
            readback_status="unknown",
            remaining_uncertainty="whether the effect happened",
            uncertainty_owner="payments",
            release_condition="a person's disposition or a new observation",
        )
    ]


def test_one_whose_business_fact_does_not_hold_leaves_that_open(desk: Any) -> None:
    """The effect is there, and so is somebody else's."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    desk.do("ledger", lambda it: it.submit("another-key", desk.operation.action, 1, 1500))
    desk.resume()

    assert desk.receipts == [
        expected(
            desk,
            decision="complete",
            because="the effect is there: verify the postcondition, call nothing that changes it",
            readback_status="committed",
            effect_receipt_digest=desk.effects[0]["receipt_digest"],
            postcondition_holds=False,
            remaining_uncertainty="the business fact: order-1001 has 2 effect(s) of kind charge",
            uncertainty_owner="payments",
            release_condition="a later reading in which it holds, or a compensation",
        )
    ]


def test_a_verified_outcome_is_read_again_not_remembered(desk: Any) -> None:
    """A second payment that came later shows in the next recovery's receipt."""

    desk.first()
    desk.do("ledger", lambda it: it.submit("another-key", desk.operation.action, 1, 1500))

    assert desk.resume() == "OUTCOME_VERIFIED"
    assert desk.receipts[0]["postcondition_holds"] is False


@pytest.mark.parametrize("died_at", [Boundary.CLAIMED, Boundary.EFFECT_READ, Boundary.DECIDED])
def test_a_recovery_that_died_before_its_end_leaves_none(desk: Any, died_at: Boundary) -> None:
    """A receipt is of what was carried out; the claim alone is in the timeline."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.resume_dies_at(died_at)

    assert desk.receipts == []
    assert [body["epoch"] for body in desk.events("claimed")] == [1, 2]


def test_it_is_kept_under_its_own_digest_and_the_timeline_names_that(desk: Any) -> None:
    """A receipt that is changed later no longer fits the event chain."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.resume()

    [row] = desk.table("recovery_receipts")
    assert row["digest"] == canonical.digest(json.loads(row["receipt"]))
    assert [body["digest"] for body in desk.events("recovered")] == [row["digest"]]
