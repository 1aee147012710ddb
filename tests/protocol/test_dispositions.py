"""A person's word on an unknown outcome: the first answer stands."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.errors import Conflict, ForbiddenMove
from labkit.protocol import dispositions

ID = "order-1001:charge"


@pytest.fixture
def doubtful(empty_desk: Any) -> Any:
    """A payment at a provider without keys, whose worker died at the call; its effect did happen."""
    desk = empty_desk.prepare(idempotent=False)
    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    assert desk.resume() == "UNKNOWN_OUTCOME"
    return desk


def answer(desk: Any, said: dispositions.Answer, actor: str = "bob", now_ms: int = 3000) -> str:
    """One person's answer."""
    return dispositions.reconcile(desk.parties(now_ms, actor=actor), desk.operation, said)


def test_waiting_does_not_settle_it(doubtful: Any) -> None:
    """However often it is resumed: no retry, no release, and each try is on record."""

    for now_ms in (3000, 30_000, 3_000_000):
        assert doubtful.resume(now_ms) == "UNKNOWN_OUTCOME"
    assert len(doubtful.effects) == 1
    assert len(doubtful.events("held")) == 3


def test_confirmed_applied_leads_to_completion_without_another_call(doubtful: Any) -> None:
    """The postcondition is read independently before the step counts as complete."""

    assert answer(doubtful, "confirmed_applied") == "EFFECT_COMMITTED"
    assert doubtful.resume(4000) == "OUTCOME_VERIFIED"
    assert len(doubtful.effects) == 1
    assert doubtful.receipts[-1]["decision"] == "complete"


def test_confirmed_not_applied_releases_the_same_operation_once(empty_desk: Any) -> None:
    """The request had been lost; now it is sent again, under the admission that it has."""

    desk = empty_desk.prepare(idempotent=False)
    desk.first_dies_at(Boundary.DISPATCHED)
    desk.resume()

    assert answer(desk, "confirmed_not_applied") == "ADMITTED"
    assert desk.resume(20_000) == "OUTCOME_VERIFIED"
    assert len(desk.effects) == 1


def test_a_later_different_answer_is_refused_and_both_are_in_the_timeline(doubtful: Any) -> None:
    """The first explicit decision stands, whoever disagrees."""

    answer(doubtful, "confirmed_applied", "bob")

    with pytest.raises(Conflict, match="bob has said confirmed_applied"):
        answer(doubtful, "confirmed_not_applied", "carol", 5000)

    assert doubtful.state == "EFFECT_COMMITTED"
    assert doubtful.events("reconciled", "reconcile_refused") == [
        {"operation_id": ID, "answer": "confirmed_applied", "actor": "bob"},
        {
            "operation_id": ID,
            "answer": "confirmed_not_applied",
            "actor": "carol",
            "stands": "confirmed_applied",
            "by": "bob",
        },
    ]


def test_the_same_answer_again_changes_nothing(doubtful: Any) -> None:
    """No event, no new epoch."""

    answer(doubtful, "confirmed_applied", "bob")
    before = doubtful.table("events")

    assert answer(doubtful, "confirmed_applied", "carol") == "EFFECT_COMMITTED"
    assert doubtful.table("events") == before


def test_it_still_stands_after_completion(doubtful: Any) -> None:
    """A complete workflow does not forget who settled its doubt."""

    answer(doubtful, "confirmed_applied")
    doubtful.resume(4000)

    with pytest.raises(Conflict):
        answer(doubtful, "confirmed_not_applied")
    assert doubtful.state == "OUTCOME_VERIFIED"


def test_a_new_doubt_takes_a_new_answer(doubtful: Any) -> None:
    """The answer was to the first call; a second call that nobody heard of is another question."""

    answer(doubtful, "confirmed_not_applied")

    def die_at_dispatch(now: Boundary) -> None:
        if now == Boundary.DISPATCHED:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        doubtful.resume(4000, die_at_dispatch)
    assert doubtful.resume(5000) == "UNKNOWN_OUTCOME"

    assert answer(doubtful, "confirmed_applied", "carol", 6000) == "EFFECT_COMMITTED"


@pytest.mark.parametrize(
    "state",
    ["NOT_ADMITTED", "ADMITTED", "EFFECT_PENDING", "EFFECT_COMMITTED", "OUTCOME_VERIFIED", "ABANDONED"],
)
def test_only_an_unknown_outcome_can_be_reconciled(desk: Any, state: str) -> None:
    """What is known needs no person's word; the attempt is on record, the epoch is not raised."""

    desk.put_in_state(state)

    with pytest.raises(ForbiddenMove, match="nothing about it is unknown"):
        answer(desk, "confirmed_applied")
    assert (desk.state, desk.journal.workflow("order-1001").epoch) == (state, 0)
    assert len(desk.events("move_refused")) == 1


def test_an_answer_fences_a_worker_that_is_only_slow(empty_desk: Any) -> None:
    """After `confirmed_not_applied` the old call must not arrive and make it untrue."""

    desk = empty_desk.prepare(idempotent=False)
    desk.first_dies_at(Boundary.DISPATCHED)
    desk.resume()
    answer(desk, "confirmed_not_applied")

    late = desk.ledger.submit(None, desk.operation.action, 1, 3500)

    assert late.status == "stale_epoch"


def test_a_damaged_receipt_can_be_settled_by_a_person(desk: Any) -> None:
    """The owner's record proves nothing; the person's word and the business fact do."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    desk.change("ledger", "UPDATE effects SET committed_at_ms = 1")
    assert desk.resume() == "UNKNOWN_OUTCOME"

    assert answer(desk, "confirmed_applied", "bob") == "EFFECT_COMMITTED"
    assert desk.resume(4000) == "OUTCOME_VERIFIED"
    assert desk.receipts[-1]["readback_source"] == "confirmed_applied by bob"
    assert [row["receipt_digest"] for row in desk.table("checkpoints")] == [None]


def test_a_persons_word_does_not_overrule_what_the_ledger_shows(desk: Any) -> None:
    """Confirmed applied, and the owner says absent: phantom progress, held, nothing checkpointed."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.put_in_state("UNKNOWN_OUTCOME")
    answer(desk, "confirmed_applied")

    assert desk.resume(4000) == "EFFECT_COMMITTED"
    assert desk.table("checkpoints") == []
    assert desk.receipts[-1]["because"].startswith("phantom_progress")
