"""The first run: what each answer of the approver and of the provider leaves in the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.errors import AmbiguousOutcome, ForbiddenMove, KnownFailure, StaleClaim
from labkit.protocol.attempt import first_run
from labkit.values import Action, BudgetPolicy, Mandate, SubmitResult

ID = "order-1001:charge"
OTHER = Action("charge", "order-1001", 4001, "USD")


@dataclass
class Meddler:
    """A provider whose submit is done by `submit_instead(inner, *call)`; the rest goes through."""

    inner: Any
    submit_instead: Callable[..., SubmitResult]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def submit(self, *call: Any) -> SubmitResult:
        """What the test wants to happen at the call."""
        return self.submit_instead(self.inner, *call)


def meddling(submit_instead: Callable[..., SubmitResult]) -> Callable[[Any], Meddler]:
    """A wrapper for the desk."""
    return lambda inner: Meddler(inner, submit_instead)


def fails(*_: Any) -> SubmitResult:
    """The provider did nothing, and says so."""
    raise KnownFailure("out of order")


def request_is_lost(*_: Any) -> SubmitResult:
    """The call never arrived, and the caller cannot know."""
    raise AmbiguousOutcome("no reply")


def reply_is_lost(inner: Any, *call: Any) -> SubmitResult:
    """The call had its effect, and the caller cannot know."""
    inner.submit(*call)
    raise AmbiguousOutcome("no reply")


def test_an_uninterrupted_run_leaves_one_effect_and_one_checkpoint(desk: Any) -> None:
    """Intent, admission, effect, acknowledgement, checkpoint: one row each, bound to one another."""

    assert desk.first() == "OUTCOME_VERIFIED"

    [effect] = desk.effects
    [checkpoint] = desk.table("checkpoints")
    [attempt] = desk.table("attempts")
    admission = desk.authority.admission(ID)
    assert (effect["operation_id"], effect["amount_minor"], effect["epoch"]) == (ID, 4000, 1)
    assert (checkpoint["effect_id"], checkpoint["receipt_digest"]) == (1, effect["receipt_digest"])
    assert (attempt["operation_id"], attempt["epoch"], attempt["outcome"]) == (ID, 1, "committed")
    assert (admission.approval_id, admission.admitted_at_ms) == ("approval-1", 1000)
    assert desk.path == ["ADMITTED", "EFFECT_PENDING", "EFFECT_COMMITTED", "OUTCOME_VERIFIED"]


def test_it_passes_the_boundaries_in_order(desk: Any) -> None:
    """The order is the protocol: identity, permission, dispatch, effect, receipt, claim of completion."""

    passed: list[Boundary] = []
    desk.first(reached=passed.append)

    assert passed == [
        "intent.recorded",
        "admission.recorded",
        "dispatch.recorded",
        "effect.inserted",
        "effect.committed",
        "effect.acknowledged",
        "checkpoint.recorded",
    ]


WITHOUT_AUTHORITY: dict[str, tuple[Callable[[Any], None], str]] = {
    "expired": (
        lambda desk: desk.change("authority", "UPDATE approvals SET expires_at_ms = 999"),
        "approval_expired",
    ),
    "revoked": (
        lambda desk: desk.change("authority", "UPDATE approvals SET revoked_at_ms = 500"),
        "approval_revoked",
    ),
    "older policy": (lambda desk: desk.raise_policy_version(), "policy_version_moved"),
    "other bytes": (
        lambda desk: desk.change("authority", "UPDATE approvals SET action_digest = ?", OTHER.digest),
        "approval_of_other_bytes",
    ),
    "subject moved": (
        lambda desk: desk.do("authority", lambda it: it.revise_subject("order-1001", 500)),
        "subject_moved",
    ),
    "used elsewhere": (
        lambda desk: desk.change(
            "authority", "INSERT INTO admissions VALUES ('other-operation', 'digest', 'approval-1', 1, 500)"
        ),
        "approval_consumed",
    ),
    "never given": (
        lambda desk: desk.change("journal", "UPDATE operations SET approval_id = NULL"),
        "approval_missing",
    ),
}


@pytest.mark.parametrize(("happens", "reason"), WITHOUT_AUTHORITY.values(), ids=WITHOUT_AUTHORITY.keys())
def test_without_authority_nobody_is_asked_for_the_effect(
    desk: Any, happens: Callable[[Any], None], reason: str
) -> None:
    """Each way in which an approval can fail to permit, changed alone."""

    happens(desk)

    assert desk.first() == "NEEDS_REAUTHORISATION"
    assert (desk.effects, desk.table("attempts"), desk.authority.admission(ID)) == ([], [], None)
    assert [body["evidence"]["reason"] for body in desk.events("moved")] == [reason]


def test_expiry_is_inclusive(desk: Any) -> None:
    """At the very millisecond an approval still permits."""

    assert desk.first(now_ms=10_000) == "OUTCOME_VERIFIED"


def test_a_millisecond_later_it_does_not(desk: Any) -> None:
    """The other side of the same border."""

    assert desk.first(now_ms=10_001) == "NEEDS_REAUTHORISATION"


REFUSALS: dict[str, tuple[Callable[[Any], None], str, str]] = {
    "no mandate": (
        lambda desk: desk.change("ledger", "DELETE FROM mandates"),
        "mandate_missing",
        "NEEDS_REAUTHORISATION",
    ),
    "mandate revoked": (
        lambda desk: desk.revoke_mandate(),
        "mandate_revoked",
        "NEEDS_REAUTHORISATION",
    ),
    "mandate for another amount": (
        lambda desk: desk.change("ledger", "UPDATE mandates SET amount_minor = 1"),
        "mandate_mismatch",
        "NEEDS_REAUTHORISATION",
    ),
    "no effect left": (
        lambda desk: desk.change("ledger", "UPDATE policy SET max_effects = 0"),
        "budget_action_limit",
        "ABANDONED",
    ),
    "no money left": (
        lambda desk: desk.change("ledger", "INSERT INTO currency_caps VALUES ('USD', 3999)"),
        "budget_currency_limit",
        "ABANDONED",
    ),
    "currency without a cap": (
        lambda desk: desk.change("ledger", "INSERT INTO currency_caps VALUES ('EUR', 9999)"),
        "budget_currency_unknown",
        "ABANDONED",
    ),
}


@pytest.mark.parametrize(("happens", "reason", "state"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_of_the_owner_is_recorded_as_it_was_said(
    desk: Any, happens: Callable[[Any], None], reason: str, state: str
) -> None:
    """On authority it waits for a person; on capacity it is over.  No effect either way."""

    happens(desk)

    assert desk.first() == state
    assert desk.effects == []
    assert desk.events("moved")[-1]["evidence"]["reason"] == reason
    assert [row["outcome"] for row in desk.table("attempts")] == [reason]


def test_a_key_that_stands_for_other_bytes_ends_the_operation(desk: Any) -> None:
    """The original effect stays as it is, and is not taken for ours."""

    desk.do("ledger", lambda ledger: ledger.grant_mandate(Mandate("order-1001", 4001, "USD"), 0))
    desk.do("ledger", lambda ledger: ledger.submit(ID, OTHER, 0, 500))

    assert desk.first() == "ABANDONED"
    assert desk.events("moved")[-1]["evidence"]["reason"] == "key_conflict"
    assert [row["amount_minor"] for row in desk.effects] == [4001]


def test_an_effect_that_is_there_already_is_taken_as_ours(desk: Any) -> None:
    """Same id, same bytes: the original receipt, and the event says that it was replayed."""

    desk.do("ledger", lambda ledger: ledger.submit(ID, desk.operation.action, 0, 500))

    assert desk.first() == "OUTCOME_VERIFIED"
    assert len(desk.effects) == 1
    assert [b["evidence"].get("replayed") for b in desk.events("moved")] == [None, None, True, None]


def test_a_known_failure_consumes_a_try_and_the_first_counts(desk: Any) -> None:
    """The operation is where it was before the call, one try poorer, durably."""

    assert desk.first(wrap=meddling(fails)) == "ADMITTED"
    assert (desk.operation.retries, desk.effects) == (1, [])
    assert [row["outcome"] for row in desk.table("attempts")] == ["failed_retryable"]


def test_the_last_try_ends_the_operation(empty_desk: Any) -> None:
    """With one try allowed, the first failure is the last."""

    desk = empty_desk.prepare(max_retries=1)

    assert desk.first(wrap=meddling(fails)) == "ABANDONED"
    assert desk.path == ["ADMITTED", "EFFECT_PENDING", "ADMITTED", "ABANDONED"]
    assert desk.events("moved")[-1]["evidence"]["reason"] == "retries_exhausted"


@pytest.mark.parametrize(
    ("ambiguous", "effects"), [(request_is_lost, 0), (reply_is_lost, 1)], ids=["request lost", "reply lost"]
)
def test_an_ambiguous_failure_consumes_no_try_and_claims_nothing(
    desk: Any, ambiguous: Callable[..., SubmitResult], effects: int
) -> None:
    """Two worlds, one journal: that is why it may claim neither."""

    assert desk.first(wrap=meddling(ambiguous)) == "UNKNOWN_OUTCOME"
    assert (desk.operation.retries, len(desk.effects), desk.table("checkpoints")) == (0, effects, [])
    assert [row["outcome"] for row in desk.table("attempts")] == [None]


def damaged(inner: Any, *call: Any) -> SubmitResult:
    """A receipt in which a cent was changed on the way."""
    result = inner.submit(*call)
    return replace(result, receipt=replace(result.receipt, amount_minor=4001))


def of_another(inner: Any, *call: Any) -> SubmitResult:
    """An undamaged receipt, but of another operation."""
    inner.submit(*call)
    inner.ledger.db.execute("UPDATE mandates SET subject = 'order-2'")
    return inner.submit("other-operation", replace(call[1], subject="order-2"), 0)  # type: ignore[no-any-return]


@pytest.mark.parametrize("answer", [damaged, of_another], ids=["damaged", "of another operation"])
def test_a_receipt_that_does_not_prove_this_operation_proves_nothing(
    desk: Any, answer: Callable[..., SubmitResult]
) -> None:
    """It stops for reconciliation instead of checkpointing what it cannot show."""

    assert desk.first(wrap=meddling(answer)) == "UNKNOWN_OUTCOME"
    assert desk.table("checkpoints") == []
    assert desk.events("moved")[-1]["evidence"]["reason"] == "receipt_corrupt"


def test_a_business_fact_that_does_not_hold_stops_before_the_checkpoint(desk: Any) -> None:
    """Another key has charged the same order: our receipt is good, the fact is not."""

    desk.do("ledger", lambda ledger: ledger.submit("another-key", desk.operation.action, 0, 500))

    assert desk.first() == "EFFECT_COMMITTED"
    assert desk.table("checkpoints") == []
    assert desk.events("postcondition_failed") == [
        {"operation_id": ID, "seen": "order-1001 has 2 effect(s) of kind charge"}
    ]


def test_a_call_without_a_key_is_checkpointed_with_its_receipt(empty_desk: Any) -> None:
    """A provider that takes no key gives a receipt all the same."""

    desk = empty_desk.prepare(idempotent=False)

    assert desk.first() == "OUTCOME_VERIFIED"
    assert [row["operation_id"] for row in desk.effects] == [None]
    assert [row["effect_id"] for row in desk.table("checkpoints")] == [1]


@pytest.mark.parametrize(
    "state", ["ADMITTED", "EFFECT_PENDING", "EFFECT_COMMITTED", "UNKNOWN_OUTCOME", "OUTCOME_VERIFIED"]
)
def test_a_first_run_of_something_tried_is_refused_and_shown(desk: Any, state: str) -> None:
    """Starting over is how payments get doubled; nothing is claimed, and the try is on record."""

    desk.put_in_state(state)

    with pytest.raises(ForbiddenMove, match="resume it instead"):
        desk.first()
    assert (desk.state, desk.effects, desk.journal.workflow("order-1001").epoch) == (state, [], 0)
    assert len(desk.events("move_refused")) == 1


def test_of_two_first_runs_from_one_version_one_is_refused(desk: Any) -> None:
    """The claim compares and swaps the version that was read."""

    first, second = desk.parties(), desk.parties()
    seen = first.journal.workflow("order-1001")
    first.claim(seen, "order-1001")

    with pytest.raises(StaleClaim):
        second.claim(seen, "order-1001")
    assert [body["epoch"] for body in desk.events("claimed")] == [1]


ANSWERS: dict[str, Callable[..., SubmitResult]] = {
    "committed": lambda inner, *call: inner.submit(*call),
    "known failure": fails,
    "no reply": request_is_lost,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_worker_that_was_taken_over_during_its_call_records_nothing(
    desk: Any, answer: Callable[..., SubmitResult]
) -> None:
    """Whatever answer it gets: the workflow is another's, and so is the journal."""

    def taken_over(inner: Any, *call: Any) -> SubmitResult:
        assert desk.resume() == "OUTCOME_VERIFIED"
        return answer(inner, *call)

    with pytest.raises(StaleClaim):
        desk.first(wrap=meddling(taken_over))

    assert (desk.state, len(desk.effects), desk.operation.retries) == ("OUTCOME_VERIFIED", 1, 0)
    assert [row["outcome"] for row in desk.table("attempts")] == [None, "committed"]


def test_a_worker_that_was_taken_over_before_admission_consumes_no_approval(desk: Any) -> None:
    """It slept past the expiry with an old clock in its hand; the approver must not hear from it."""

    def sleep(now: Boundary) -> None:
        if now == "intent.recorded":
            assert desk.resume(now_ms=20_000) == "NEEDS_REAUTHORISATION"

    with pytest.raises(StaleClaim):
        desk.first(now_ms=1000, reached=sleep)

    assert (desk.authority.admission(ID), desk.effects, desk.state) == (None, [], "NEEDS_REAUTHORISATION")


def test_an_order_of_another_workflow_can_be_paid_after_many_claims(desk: Any) -> None:
    """Epochs are the provider's by subject: a new workflow claims above what the provider knows."""

    desk.first_dies_at(Boundary.DISPATCHED)
    for _ in range(3):
        desk.resume()
    desk.change("journal", "INSERT INTO workflows VALUES ('again', 'charge/1', 0, 0, NULL, 0)")
    desk.change(
        "journal",
        "INSERT INTO operations SELECT 'second', 'again', step, ledger, action, action_digest, 'NOT_ADMITTED',"
        " 'approval-2', 1, 0, 3, NULL, NULL, NULL FROM operations",
    )
    desk.do("authority", lambda authority: authority.approve(desk.approval("approval-2")))

    parties = desk.parties()
    state = first_run(parties, parties.journal.operation("second"))

    assert [row["epoch"] for row in desk.effects] == [2, 5]
    assert state == "EFFECT_COMMITTED"  # paid, and the fact (exactly one charge) rightly does not hold


def test_zero_effects_is_a_cap(empty_desk: Any) -> None:
    """A budget of nothing permits nothing."""

    assert empty_desk.prepare(budget=BudgetPolicy(max_effects=0)).first() == "ABANDONED"
    assert empty_desk.effects == []
