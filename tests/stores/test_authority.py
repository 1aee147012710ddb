"""Approvals of exact bytes, used once; admissions that outlive them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import Conflict, UnknownName
from labkit.stores.authority import Authority
from labkit.stores.sqlite import atomic
from labkit.values import Action, Admission, Approval, AuthorityEvidence

CHARGE = Action("charge", "order-1001", 4000, "USD")
KEY = "order-1001:charge"
APPROVAL = Approval("approval-1", CHARGE.digest, "order-1001", 0, "ann", 1, expires_at_ms=5000)


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """An approver's record with one approval of one charge."""
    authority = Authority.create(tmp_path / "authority.sqlite3")
    with atomic(authority.db):
        authority.approve(APPROVAL)
    yield authority
    authority.db.close()


def resolve(
    authority: Authority,
    now_ms: int = 1000,
    key: str = KEY,
    action: Action = CHARGE,
    approval_id: str | None = "approval-1",
) -> tuple[str, str]:
    """The status and the reason."""
    evidence = authority.resolve(key, action.digest, approval_id, now_ms)
    return evidence.status, evidence.reason


def admit(
    authority: Authority,
    now_ms: int = 1000,
    key: str = KEY,
    action: Action = CHARGE,
    approval_id: str | None = "approval-1",
) -> AuthorityEvidence:
    """One admission in a transaction of its own."""
    with atomic(authority.db):
        return authority.admit(key, action.digest, approval_id, now_ms)


def do(authority: Authority, change: Callable[[Authority], object]) -> None:
    """One change in a transaction of its own."""
    with atomic(authority.db):
        change(authority)


def test_an_unused_approval_of_these_bytes_is_current(authority: Authority) -> None:
    """And looking does not use it."""

    assert ("current", "approval_current") == resolve(authority) == resolve(authority)
    assert authority.admission(KEY) is None


def test_an_approval_is_bound_to_the_digest_of_what_executes(authority: Authority) -> None:
    """One cent more is another action; arguments rewritten after approval are not approved."""

    other = replace(CHARGE, amount_minor=4001)

    assert resolve(authority, action=other) == ("revoked", "approval_of_other_bytes")
    assert admit(authority, action=other).status == "revoked"
    assert authority.admission(KEY) is None


@pytest.mark.parametrize(
    ("now_ms", "status"), [(0, "current"), (4999, "current"), (5000, "current"), (5001, "expired")]
)
def test_the_expiry_is_inclusive(authority: Authority, now_ms: int, status: str) -> None:
    """At 5000 it still holds, a millisecond later it does not."""

    assert status == resolve(authority, now_ms)[0]


def raise_policy(authority: Authority) -> object:
    return authority.raise_policy_version(2000)


def revise_subject(authority: Authority) -> object:
    return authority.revise_subject("order-1001", 2000)


def revoke(authority: Authority) -> object:
    return authority.revoke("approval-1", 2000)


STALE = {"policy_version_moved": raise_policy, "subject_moved": revise_subject, "approval_revoked": revoke}


@pytest.mark.parametrize(("reason", "change"), STALE.items())
def test_an_approval_falls_with_what_it_was_given_for(
    authority: Authority, reason: str, change: Callable[[Authority], object]
) -> None:
    """A policy that moved, a subject that changed, a person who withdrew it: stale, long before it expires."""

    do(authority, change)

    assert ("revoked", reason) == resolve(authority)
    assert ("revoked", reason) == (admit(authority).status, admit(authority).reason)
    assert authority.admission(KEY) is None


@pytest.mark.parametrize("change", STALE.values(), ids=STALE)
def test_what_was_admitted_in_time_may_be_finished_whatever_moves_later(
    authority: Authority, change: Callable[[Authority], object]
) -> None:
    """Policy, subject, revocation and expiry speak of new admissions only."""

    first = admit(authority, 1000)
    do(authority, change)
    later = admit(authority, 90_000)

    assert resolve(authority, 90_000) == ("admitted", "admitted_before")
    assert Admission(KEY, CHARGE.digest, "approval-1", 1, 1000) == first.admission == later.admission


def test_what_was_not_admitted_in_time_needs_a_fresh_approval(authority: Authority) -> None:
    """Late is late; a new approval of the same bytes heals it."""

    assert admit(authority, 5001).status == "expired"
    do(authority, lambda a: a.approve(replace(APPROVAL, approval_id="approval-2", expires_at_ms=9000)))

    assert admit(authority, 5001, approval_id="approval-2").status == "admitted"


def test_a_fresh_approval_under_the_new_policy_is_current(authority: Authority) -> None:
    """The version that it binds is the one in force."""

    do(authority, raise_policy)
    do(authority, revise_subject)
    fresh = replace(APPROVAL, approval_id="approval-2", policy_version=2, subject_revision=1)
    do(authority, lambda a: a.approve(fresh))

    assert resolve(authority, approval_id="approval-2") == ("current", "approval_current")
    assert resolve(authority) == ("revoked", "policy_version_moved")


def test_another_subjects_revision_changes_nothing(authority: Authority) -> None:
    """Revisions are counted apart."""

    do(authority, lambda a: a.revise_subject("order-1002", 2000))

    assert (
        resolve(authority)[0], authority.subject_revision("order-1001"), authority.subject_revision("order-1002")
    ) == ("current", 0, 1)  # fmt: skip


def test_an_approval_is_used_once(authority: Authority) -> None:
    """Its second operation is refused and told who has it; the first keeps it."""

    admit(authority)
    second = admit(authority, key="order-1001:charge:2")

    assert (second.status, second.reason, second.other_operation_id) == (
        "consumed_elsewhere",
        "approval_consumed",
        KEY,
    )
    assert authority.admission("order-1001:charge:2") is None
    assert resolve(authority) == ("admitted", "admitted_before")


def test_an_approval_is_used_once_even_by_the_file_itself(authority: Authority) -> None:
    """Two processes that both believed it unused cannot both admit."""

    admit(authority)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"), atomic(authority.db):
        authority.db.execute(
            "INSERT INTO admissions VALUES ('other', ?, 'approval-1', 1, 1000)", (CHARGE.digest,)
        )


def test_admitting_again_is_the_same_admission(authority: Authority) -> None:
    """Three clicks, one decision consumed, and the time of the first."""

    found = [admit(authority, now_ms).admission for now_ms in (1000, 2000, 3000)]

    assert [Admission(KEY, CHARGE.digest, "approval-1", 1, 1000)] * 3 == found


@pytest.mark.parametrize("statement", ["UPDATE admissions SET admitted_at_ms = 0", "DELETE FROM admissions",
    "INSERT OR REPLACE INTO admissions SELECT operation_id, 'other', approval_id, 2, 0 FROM admissions"])  # fmt: skip
def test_an_admission_is_immutable(authority: Authority, statement: str) -> None:
    """The file itself refuses to change or lose it."""

    before = admit(authority).admission
    with pytest.raises(sqlite3.IntegrityError), atomic(authority.db):
        authority.db.execute(statement)

    assert before == authority.admission(KEY)


def test_one_operation_with_another_action_or_approval_is_a_conflict(authority: Authority) -> None:
    """An identity keeps its meaning, for looking and for admitting; the admission stays."""

    admit(authority)
    do(authority, lambda a: a.approve(replace(APPROVAL, approval_id="approval-2")))
    for change in ({"action": replace(CHARGE, amount_minor=1)}, {"approval_id": "approval-2"}):
        for call in (resolve, admit):
            with pytest.raises(
                Conflict, match="admitted for another action or approval: use a new operation id"
            ):
                call(authority, **change)  # type: ignore[operator]

    assert resolve(authority) == ("admitted", "admitted_before")


def test_an_admitted_operation_that_names_no_approval_is_found_by_its_id(authority: Authority) -> None:
    """A journal that was lost and begun again has forgotten the approval, not the operation."""

    admit(authority)

    assert resolve(authority, approval_id=None) == ("admitted", "admitted_before")


def test_no_approval_is_no_permission(authority: Authority) -> None:
    """Fails closed: an operation that names none has none, whatever else was approved."""

    assert resolve(authority, approval_id=None) == ("revoked", "approval_missing")
    assert admit(authority, approval_id=None).status == "revoked"


def test_an_approval_that_nobody_gave_is_named(authority: Authority) -> None:
    """A misspelt id is not taken for a missing approval."""

    with pytest.raises(UnknownName, match="approval approval-9 is not known: approve first"):
        resolve(authority, approval_id="approval-9")
    with pytest.raises(UnknownName, match="approval-9"), atomic(authority.db):
        authority.revoke("approval-9", 1000)


def test_recording_the_same_decision_again_changes_nothing(authority: Authority) -> None:
    """A redelivered message is one decision."""

    do(authority, lambda a: a.approve(APPROVAL))

    assert authority.db.execute("SELECT count(*) FROM approvals").fetchone()[0] == 1


@pytest.mark.parametrize("change", [{"action_digest": "d" * 64}, {"expires_at_ms": 9000}, {"actor": "bob"}, {"policy_version": 2}],
                         ids=str)  # fmt: skip
def test_an_approval_id_stands_for_one_decision(authority: Authority, change: dict[str, object]) -> None:
    """The first stays; a later one under its name is refused."""

    with (
        pytest.raises(Conflict, match="approval approval-1 stands for another decision"),
        atomic(authority.db),
    ):
        authority.approve(replace(APPROVAL, **change))  # type: ignore[arg-type]
    assert authority.approval("approval-1") == APPROVAL


def test_a_withdrawn_approval_does_not_come_back_by_repeating_it(authority: Authority) -> None:
    """The redelivered message of before the withdrawal approves nothing."""

    do(authority, revoke)
    with pytest.raises(Conflict), atomic(authority.db):
        authority.approve(APPROVAL)

    assert resolve(authority) == ("revoked", "approval_revoked")


def test_revoking_twice_keeps_the_first_time(authority: Authority) -> None:
    """When it was withdrawn is a fact."""

    do(authority, lambda a: a.revoke("approval-1", 2000))
    do(authority, lambda a: a.revoke("approval-1", 3000))

    assert authority.approval("approval-1").revoked_at_ms == 2000


def test_what_is_undone_has_consumed_nothing(authority: Authority) -> None:
    """The approval and its use are one commit."""

    with pytest.raises(KeyboardInterrupt), atomic(authority.db):
        raise KeyboardInterrupt(authority.admit(KEY, CHARGE.digest, "approval-1", 1000).status)

    assert resolve(authority) == ("current", "approval_current")


def test_the_evidence_names_the_rows_it_rests_on(authority: Authority) -> None:
    """Which approval, which admission, under which policy."""

    before = authority.resolve(KEY, CHARGE.digest, "approval-1", 1000)
    after = admit(authority)

    assert (before.approval, before.admission, before.policy_version) == (APPROVAL, None, 1)
    assert (APPROVAL, authority.admission(KEY), 1) == (after.approval, after.admission, after.policy_version)


def test_a_new_authority_is_at_its_first_policy(tmp_path: Path) -> None:
    """Versions count from one, subjects from zero."""

    authority = Authority.create(tmp_path / "new.sqlite3", now_ms=7)
    with atomic(authority.db):
        found = (
            authority.policy_version(),
            authority.raise_policy_version(8),
            authority.subject_revision("order-1001"),
        )
    authority.db.close()

    assert found == (1, 2, 0)
