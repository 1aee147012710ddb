"""The seven moves: from every place where a run can have died, again and again, and against rivals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.errors import (
    AmbiguousOutcome,
    CodePathChanged,
    KnownFailure,
    StaleClaim,
    StoreLocked,
    UnknownName,
)
from labkit.protocol.resume import resume

ID = "order-1001:charge"
FIRST = [
    Boundary.INTENT_RECORDED,
    Boundary.ADMITTED,
    Boundary.DISPATCHED,
    Boundary.EFFECT_INSERTED,
    Boundary.EFFECT_COMMITTED,
    Boundary.ACKNOWLEDGED,
    Boundary.CHECKPOINTED,
]
HAS_EFFECT = {Boundary.EFFECT_COMMITTED, Boundary.ACKNOWLEDGED, Boundary.CHECKPOINTED}
HAS_ADMISSION = {*FIRST} - {Boundary.INTENT_RECORDED}
READING = [Boundary.CLAIMED, Boundary.EFFECT_READ, Boundary.DECIDED]
EVERYTHING = [*READING, *FIRST[1:], Boundary.RECEIPT_WRITTEN]


def is_whole(desk: Any) -> bool:
    """One effect, one checkpoint, complete."""
    rows = (len(desk.effects), len(desk.table("checkpoints")), desk.state)
    return rows == (1, 1, "OUTCOME_VERIFIED")


class Answering:
    """A provider of which one call is answered by the test; the rest goes through."""

    def __init__(self, inner: Any, **instead: Callable[..., Any]) -> None:
        self.inner = inner
        self.instead = instead

    def __getattr__(self, name: str) -> Any:
        return self.instead.get(name) or getattr(self.inner, name)


def raises(error: Exception) -> Callable[..., Any]:
    """A call that fails."""

    def call(*_: Any) -> Any:
        raise error

    return call


# --- from every boundary, under every change in between -----------------------------------------


@pytest.mark.parametrize("died_at", FIRST)
def test_a_resume_makes_it_whole_from_every_boundary(desk: Any, died_at: Boundary) -> None:
    """And once more changes nothing but evidence."""

    desk.first_dies_at(died_at)

    assert desk.resume() == "OUTCOME_VERIFIED"
    assert is_whole(desk)
    assert desk.resume(3000) == "OUTCOME_VERIFIED"
    assert is_whole(desk)
    assert len(desk.receipts) == 2


@pytest.mark.parametrize("died_at", FIRST)
@pytest.mark.parametrize("again_at", EVERYTHING)
def test_a_resume_that_dies_too_is_resumed(desk: Any, died_at: Boundary, again_at: Boundary) -> None:
    """Every boundary of the first run, times every boundary that the resume then passes."""

    desk.first_dies_at(died_at)
    passed: list[Boundary] = []

    def note_and_die(now: Boundary) -> None:
        passed.append(now)
        if now == again_at:
            raise KeyboardInterrupt

    try:
        desk.resume(2000, note_and_die)
    except KeyboardInterrupt:
        assert passed[-1] == again_at
    else:
        assert again_at not in passed

    assert desk.resume(3000) == "OUTCOME_VERIFIED"
    assert is_whole(desk)


@pytest.mark.parametrize("died_at", FIRST)
def test_a_revoked_mandate_stops_what_has_not_happened_and_nothing_else(desk: Any, died_at: Boundary) -> None:
    """The provider refuses a new effect; an old one is completed whatever the mandate says now."""

    desk.first_dies_at(died_at)
    desk.revoke_mandate()

    if died_at in HAS_EFFECT:
        assert desk.resume() == "OUTCOME_VERIFIED"
        assert is_whole(desk)
    else:
        assert desk.resume() == "NEEDS_REAUTHORISATION"
        assert (desk.effects, desk.table("checkpoints")) == ([], [])
        assert desk.events("moved")[-1]["evidence"]["reason"] == "mandate_revoked"


@pytest.mark.parametrize("happens", ["expiry", "policy"])
@pytest.mark.parametrize("died_at", FIRST)
def test_what_was_admitted_in_time_is_finished_and_what_was_not_is_not(
    desk: Any, died_at: Boundary, happens: str
) -> None:
    """16:59 and 17:01: the same plan, the same bytes; the admission makes the difference."""

    desk.first_dies_at(died_at)
    now_ms = 20_000 if happens == "expiry" else 2000
    if happens == "policy":
        desk.raise_policy_version()

    if died_at in HAS_ADMISSION:
        assert desk.resume(now_ms) == "OUTCOME_VERIFIED"
        assert is_whole(desk)
    else:
        reason = {"expiry": "approval_expired", "policy": "policy_version_moved"}[happens]
        assert desk.resume(now_ms) == "NEEDS_REAUTHORISATION"
        assert (desk.effects, desk.authority.admission(ID)) == ([], None)
        assert desk.events("moved")[-1]["evidence"]["reason"] == reason


def test_a_fresh_approval_lets_it_in(desk: Any) -> None:
    """NEEDS_REAUTHORISATION waits for a person; without one, each resume holds and says so."""

    desk.first_dies_at(Boundary.INTENT_RECORDED)
    assert desk.resume(20_000) == "NEEDS_REAUTHORISATION"
    assert desk.resume(21_000) == "NEEDS_REAUTHORISATION"
    assert desk.events("held") == [{"because": "approval_expired", "operation_id": ID}]

    desk.do("authority", lambda it: it.approve(desk.approval("approval-2", expires_at_ms=30_000)))
    desk.do("journal", lambda it: it.bind_approval(ID, "approval-2", 22_000))

    assert desk.resume(23_000) == "OUTCOME_VERIFIED"
    assert is_whole(desk)
    assert desk.authority.admission(ID).approval_id == "approval-2"


def test_a_mandate_that_is_granted_again_lets_the_admitted_operation_finish(desk: Any) -> None:
    """The admission stands; it was the provider's own permission that was missing."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.revoke_mandate()
    assert desk.resume() == "NEEDS_REAUTHORISATION"
    desk.change("ledger", "UPDATE mandates SET revoked_at_ms = NULL")

    assert desk.resume(20_000) == "OUTCOME_VERIFIED"
    assert is_whole(desk)


def test_an_approval_that_another_operation_used_ends_this_one_and_names_the_other(desk: Any) -> None:
    """Abandoned, with the other's id in the event and in the receipt."""

    desk.first_dies_at(Boundary.INTENT_RECORDED)
    desk.do(
        "authority", lambda it: it.admit("other-operation", desk.operation.action_digest, "approval-1", 1)
    )

    assert desk.resume() == "ABANDONED"
    assert desk.effects == []
    because = "its approval was used by another operation: other-operation"
    assert desk.events("moved")[-1]["evidence"]["reason"] == because
    assert [(it["decision"], it["because"]) for it in desk.receipts] == [("abandon", because)]


# --- the owner's answers --------------------------------------------------------------------


def test_known_failures_are_retried_up_to_the_cap(desk: Any) -> None:
    """Three tries, the first one counted; then it is over, durably, and no fourth call is made."""

    out_of_order = raises(KnownFailure("out of order"))
    failing = lambda inner: Answering(inner, submit=out_of_order)  # noqa: E731
    states = [desk.first(wrap=failing)] + [desk.resume(n, wrap=failing) for n in (2000, 3000, 4000)]

    assert states == ["ADMITTED", "ADMITTED", "ABANDONED", "ABANDONED"]
    assert (desk.operation.retries, len(desk.table("attempts")), desk.effects) == (3, 3, [])
    assert [it["decision"] for it in desk.receipts] == ["execute", "execute", "abandon"]
    assert desk.receipts[-1]["because"] == "it was abandoned before, and that is final"


def test_after_one_known_failure_the_next_try_may_succeed(desk: Any) -> None:
    """A known failure is none of the effect's."""

    assert desk.first(wrap=lambda it: Answering(it, submit=raises(KnownFailure("busy")))) == "ADMITTED"
    assert desk.resume() == "OUTCOME_VERIFIED"
    assert is_whole(desk)
    assert desk.operation.retries == 1


def test_a_cap_that_was_used_up_elsewhere_is_not_passed(desk: Any) -> None:
    """The journal says that no try is left: exhausted, whatever else permits another."""

    desk.first_dies_at(Boundary.ADMITTED)
    desk.change("journal", "UPDATE operations SET retries = 3")

    assert desk.resume() == "ABANDONED"
    assert desk.receipts[0]["readback_status"] == "failed_exhausted"
    assert desk.effects == []


@pytest.mark.parametrize("effect_happened", [True, False], ids=["reply lost", "request lost"])
def test_an_unknown_outcome_is_settled_by_reading_it(desk: Any, effect_happened: bool) -> None:
    """The owner keeps the key, so that the doubt ends at the next readback, with one effect."""

    def lost(inner: Any) -> Any:
        def submit(*call: Any) -> Any:
            if effect_happened:
                inner.submit(*call)
            raise AmbiguousOutcome("no reply")

        return Answering(inner, submit=submit)

    assert desk.first(wrap=lost) == "UNKNOWN_OUTCOME"
    assert desk.resume() == "OUTCOME_VERIFIED"
    assert is_whole(desk)
    assert desk.operation.retries == 0


def test_a_readback_without_an_answer_stops_in_doubt(desk: Any) -> None:
    """Nothing is called, nothing released; a later readback goes on."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)

    assert desk.resume(wrap=lambda it: Answering(it, read=raises(AmbiguousOutcome("?")))) == "UNKNOWN_OUTCOME"
    assert desk.receipts[0]["remaining_uncertainty"] == "whether the effect happened"
    assert desk.resume(3000) == "OUTCOME_VERIFIED"
    assert is_whole(desk)


def test_what_the_owner_calls_pending_is_held(desk: Any) -> None:
    """The owner has it in hand: neither unknown nor to be repeated."""

    desk.first_dies_at(Boundary.DISPATCHED)

    def pending(inner: Any) -> Any:
        from labkit.values import Reading

        return Answering(inner, read=lambda _id: Reading("pending", None, "payments", 2000))

    assert desk.resume(wrap=pending) == "EFFECT_PENDING"
    assert (desk.effects, desk.receipts[0]["decision"]) == ([], "reconcile")
    assert len(desk.events("held")) == 1


@pytest.mark.parametrize("died_at", [Boundary.EFFECT_COMMITTED, Boundary.ACKNOWLEDGED])
def test_a_damaged_receipt_stops_for_reconciliation(desk: Any, died_at: Boundary) -> None:
    """Nothing is checkpointed by a receipt that does not fit its digest."""

    desk.first_dies_at(died_at)
    desk.change("ledger", "UPDATE effects SET amount_minor = 4001")

    state = desk.resume()

    assert state == ("UNKNOWN_OUTCOME" if died_at == Boundary.EFFECT_COMMITTED else "EFFECT_COMMITTED")
    assert desk.table("checkpoints") == []
    assert desk.receipts[0]["decision"] == "reconcile"
    assert desk.receipts[0]["because"].startswith("receipt_corrupt")


def test_an_effect_of_other_bytes_under_our_id_is_not_ours(desk: Any) -> None:
    """The provider keeps the original; a recovery must not take it for this order."""

    desk.first_dies_at(Boundary.ADMITTED)
    desk.change("ledger", "UPDATE mandates SET amount_minor = 4001")
    from dataclasses import replace

    other = replace(desk.operation.action, amount_minor=4001)
    desk.do("ledger", lambda it: it.submit(ID, other, 1, 1500))

    assert desk.resume() == "UNKNOWN_OUTCOME"
    assert (len(desk.effects), desk.table("checkpoints")) == (1, [])


def test_a_journal_that_claims_what_the_ledger_denies_is_held(desk: Any) -> None:
    """Phantom progress: nothing is paid to make it true, nothing is checkpointed."""

    desk.put_in_state("EFFECT_COMMITTED")

    assert desk.resume() == "EFFECT_COMMITTED"
    assert (desk.effects, desk.table("checkpoints")) == ([], [])
    assert desk.events("held")[0]["because"].startswith("phantom_progress")
    assert desk.receipts[0]["decision"] == "reconcile"


def test_an_effect_without_any_admission_is_held(desk: Any) -> None:
    """It is there and is reported; under whose authority it came, a person has to say."""

    desk.do("ledger", lambda it: it.submit(ID, desk.operation.action, 0, 500))

    assert desk.resume() == "NOT_ADMITTED"
    assert desk.events("held")[0]["because"] == "an effect without an admission"
    assert desk.receipts[0]["remaining_uncertainty"] == "under whose authority the effect came"


def test_an_abandoned_operation_whose_effect_is_there_is_reported(desk: Any) -> None:
    """Final is final; but the receipt does not hide what the ledger holds."""

    desk.first()
    desk.put_in_state("ABANDONED")

    assert desk.resume() == "ABANDONED"
    assert (desk.receipts[0]["decision"], desk.receipts[0]["readback_status"]) == ("reconcile", "committed")


# --- evidence that contradicts itself -------------------------------------------------------


def test_contradictory_authority_permits_nothing_and_hides_no_effect(desk: Any) -> None:
    """Admitted under one approval, bound to another: an effect is still completed."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    desk.change("journal", "UPDATE operations SET approval_id = 'approval-9'")

    assert desk.resume() == "OUTCOME_VERIFIED"
    assert is_whole(desk)


def test_contradictory_authority_without_an_effect_is_held(desk: Any) -> None:
    """The other half: nothing is paid on it."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.change("journal", "UPDATE operations SET approval_id = 'approval-9'")

    assert desk.resume() == "EFFECT_PENDING"
    assert (desk.effects, desk.receipts[0]["decision"]) == ([], "reauthorise")


def test_a_journals_word_for_an_admission_is_not_enough(desk: Any) -> None:
    """The journal says ADMITTED, the approver has no such record: it is admitted first, and consumed."""

    desk.put_in_state("ADMITTED")

    assert desk.resume() == "OUTCOME_VERIFIED"
    assert desk.authority.admission(ID).approval_id == "approval-1"


def test_a_lost_journal_is_recovered_from_the_other_two(desk: Any) -> None:
    """Only the intent was written again: identity, admission and effect are enough; epochs go on rising."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    desk.resume()
    for path in Path(desk.folder).glob("journal.sqlite3*"):
        path.unlink()
    from labkit.protocol.attempt import CODE_PATH
    from labkit.stores.journal import Journal, new_operation
    from labkit.stores.sqlite import atomic
    from labkit.values import Action

    action = Action("charge", "order-1001", 4000, "USD")
    journal = Journal.create(Path(desk.folder) / "journal.sqlite3")
    with atomic(journal.db):
        journal.begin("order-1001", CODE_PATH, 3000)
        journal.intend(new_operation(ID, "order-1001", "charge", action, approval_id="approval-1"), 3000)
    journal.db.close()

    assert desk.resume(4000) == "OUTCOME_VERIFIED"
    assert is_whole(desk)
    assert desk.journal.workflow("order-1001").epoch == 3


def test_history_of_other_code_is_not_even_claimed(desk: Any) -> None:
    """The code that began it may be alive and right; this one must not fence it."""

    desk.change("journal", "UPDATE workflows SET code_path = 'charge/2'")

    with pytest.raises(CodePathChanged, match="charge/2"):
        desk.resume()
    assert (desk.journal.workflow("order-1001").epoch, desk.ledger.highest_epoch("order-1001")) == (0, 0)


def test_a_step_or_workflow_without_intent_is_named(desk: Any) -> None:
    """A recovery never mints what was not recorded."""

    with pytest.raises(UnknownName, match="refund of order-1001 has no recorded intent"):
        resume(desk.parties(), "order-1001", "refund")
    with pytest.raises(UnknownName, match="order-7"):
        resume(desk.parties(), "order-7")
    assert desk.events("claimed") == []


def test_a_step_that_a_simple_worker_checkpointed_is_verified_without_a_second_checkpoint(desk: Any) -> None:
    """The first worker knew no states; its checkpoint counts as it stands."""

    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    receipt = desk.ledger.read(ID, 1000).receipt
    desk.do("journal", lambda it: it.checkpoint(ID, receipt, 1000))

    assert desk.resume() == "OUTCOME_VERIFIED"
    assert is_whole(desk)


# --- rivals -----------------------------------------------------------------------------------


def test_of_two_resumers_that_read_one_version_one_is_refused(desk: Any) -> None:
    """Compare-and-swap: one accepted, one rejected, one new epoch."""

    desk.first_dies_at(Boundary.DISPATCHED)
    parties = [desk.parties(2000, actor=name) for name in ("a", "b")]
    seen = parties[0].journal.workflow("order-1001")
    parties[0].claim(seen, "order-1001")

    with pytest.raises(StaleClaim, match="moved past version 1"):
        parties[1].claim(seen, "order-1001")
    assert [(it["owner"], it["epoch"]) for it in desk.events("claimed")] == [("worker", 1), ("a", 2)]


@pytest.mark.parametrize("slept_at", [*READING, Boundary.ADMITTED, Boundary.DISPATCHED])
@pytest.mark.parametrize("died_at", FIRST[:3])
def test_a_resumer_that_is_taken_over_changes_nothing_when_it_wakes(
    desk: Any, died_at: Boundary, slept_at: Boundary
) -> None:
    """The same owner under a newer epoch is another worker too."""

    desk.first_dies_at(died_at)
    rows: list[object] = []

    def sleep(now: Boundary) -> None:
        if now == slept_at and not rows:
            desk.resume(3000)
            rows.extend((desk.effects, desk.table("operations"), desk.table("events")))

    with pytest.raises(StaleClaim):
        desk.resume(2000, sleep)

    assert is_whole(desk)
    assert [desk.effects, desk.table("operations"), desk.table("events")] == rows


@pytest.mark.parametrize("slept_at", [boundary for boundary in FIRST if boundary != "effect.inserted"])
def test_a_first_worker_that_wakes_after_a_takeover_pays_nothing(desk: Any, slept_at: Boundary) -> None:
    """At every boundary: slow is not dead, and the second worker has finished meanwhile."""

    def sleep(now: Boundary) -> None:
        if now == slept_at:
            assert desk.resume() == "OUTCOME_VERIFIED"

    if slept_at == Boundary.CHECKPOINTED:
        assert desk.first(reached=sleep) == "OUTCOME_VERIFIED"
    else:
        with pytest.raises(StaleClaim):
            desk.first(reached=sleep)

    assert is_whole(desk)


def test_a_worker_asleep_inside_the_ledgers_transaction_keeps_everybody_out(desk: Any) -> None:
    """It holds SQLite's lock: the second meets contention, pays nothing, and the first finishes."""

    def sleep(now: Boundary) -> None:
        if now == Boundary.EFFECT_INSERTED:
            with pytest.raises(StoreLocked):
                desk.resume()

    assert desk.first(reached=sleep) == "OUTCOME_VERIFIED"
    assert is_whole(desk)


def test_a_takeover_is_announced_to_the_provider_before_anything_is_read(desk: Any) -> None:
    """A successor that only reads would leave the stale worker free to pay after the reading."""

    desk.first_dies_at(Boundary.DISPATCHED)
    desk.resume_dies_at(Boundary.CLAIMED)

    late = desk.ledger
    answer = late.submit(ID, desk.operation.action, 1, 2000)

    assert (answer.status, late.highest_epoch("order-1001")) == ("stale_epoch", 2)


def test_a_provider_that_knows_a_newer_epoch_stops_the_resumer(desk: Any) -> None:
    """Between the claim and its announcement somebody else was quicker."""

    desk.first_dies_at(Boundary.DISPATCHED)

    def quicker(inner: Any) -> Any:
        answers = iter((1, 9))
        return Answering(inner, fence=lambda _subject, _epoch: next(answers))

    with pytest.raises(StaleClaim, match="newer epoch"):
        desk.resume(wrap=quicker)
    assert (desk.effects, desk.receipts) == ([], [])


def test_every_claim_raises_the_epoch_also_one_by_the_same_owner(desk: Any) -> None:
    """In the journal, and at the provider."""

    desk.first()
    for expected in (2, 3, 4):
        desk.resume()
        assert desk.journal.workflow("order-1001").epoch == expected
        assert desk.ledger.highest_epoch("order-1001") == expected
