"""The provider's own record: historical replay -> fence -> mandate -> capacity -> insert, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import AmbiguousOutcome, UnknownName
from labkit.protocol.budget import budget_snapshot
from labkit.stores import sqlite
from labkit.stores.ledger import Ledger, receipt_of_row
from labkit.stores.sqlite import atomic
from labkit.values import Action, BudgetPolicy, BudgetSnapshot, Mandate, SubmitResult

CHARGE = Action("charge", "order-1001", 4000, "USD", (("memo", "first"),))
KEY = "order-1001:charge"
MANDATE = Mandate("order-1001", 4000, "USD")
Make = Callable[..., Ledger]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes ledgers, permitted and capped as asked."""
    made: list[Ledger] = []

    def one(*mandates: Mandate, budget: BudgetPolicy | None = None, required: bool = True) -> Ledger:
        ledger = Ledger.create(tmp_path / f"ledger-{len(made)}.sqlite3", "payments", required, budget)
        made.append(ledger)
        with atomic(ledger.db):
            for mandate in mandates:
                ledger.grant_mandate(mandate, 0)
        return ledger

    yield one
    for ledger in made:
        ledger.db.close()


def submit(
    ledger: Ledger, key: str | None = KEY, action: Action = CHARGE, epoch: int = 0, now_ms: int = 1000
) -> SubmitResult:
    """One submit in a transaction of its own, as a provider does it."""
    with atomic(ledger.db):
        return ledger.submit(key, action, epoch, now_ms)


def effects(ledger: Ledger) -> list[dict[str, Any]]:
    """All effects in order."""
    return sqlite.rows(ledger.db, "SELECT * FROM effects ORDER BY effect_id")


def statuses(ledger: Ledger) -> list[str]:
    """What every submit was answered, in order."""
    return [
        row["status"]
        for row in sqlite.rows(ledger.db, "SELECT status FROM invocations ORDER BY invocation_id")
    ]


# --- each row of the table ------------------------------------------------------------------


def test_a_permitted_request_is_committed_with_a_receipt_of_its_own(make: Make) -> None:
    """One effect, one receipt whose digest covers it, and the key that finds it again."""

    ledger = make(MANDATE)
    result = submit(ledger)
    [effect] = effects(ledger)

    assert result.status == "committed"
    assert result.receipt is not None
    assert result.receipt.is_intact
    assert result.receipt == receipt_of_row("payments", effect) == ledger.read(KEY, 0).receipt
    assert CHARGE.digest == result.receipt.action_digest == effect["action_digest"]


def test_a_known_id_with_the_same_action_gets_the_original_receipt(make: Make) -> None:
    """However often: no new effect, and the receipt of the first time."""

    ledger = make(MANDATE)
    first = submit(ledger)
    later = [submit(ledger, now_ms=now_ms) for now_ms in (2000, 3000, 4000)]

    assert [replace(first, status="already_committed")] * 3 == later
    assert all(result.replayed for result in later)
    assert len(effects(ledger)) == 1


def permission_is_gone(ledger: Ledger) -> None:
    ledger.revoke_mandate("order-1001", 1500)


def a_newer_epoch_rules(ledger: Ledger) -> None:
    ledger.fence("order-1001", 9)


def both(ledger: Ledger) -> None:
    permission_is_gone(ledger)
    a_newer_epoch_rules(ledger)


@pytest.mark.parametrize("change", [permission_is_gone, a_newer_epoch_rules, both])
def test_history_is_answered_before_anything_that_holds_now(
    make: Make, change: Callable[[Ledger], None]
) -> None:
    """Mandate, epoch and budget speak of new effects; a committed one is reported whatever they say."""

    ledger = make(MANDATE, budget=BudgetPolicy(1, (("USD", 4000),)))
    first = submit(ledger)
    with atomic(ledger.db):
        change(ledger)

    assert replace(first, status="already_committed") == submit(ledger)
    assert len(effects(ledger)) == 1


OTHERS = {
    "another amount": replace(CHARGE, amount_minor=4001),
    "another currency": replace(CHARGE, currency="EUR"),
    "another kind": replace(CHARGE, kind="refund"),
    "another subject": replace(CHARGE, subject="order-1002"),
    "another detail": replace(CHARGE, details=(("memo", "second"),)),
    "a detail less": replace(CHARGE, details=()),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_known_id_with_any_other_action_is_a_conflict(make: Make, other: Action) -> None:
    """The body is compared whole; the original stays as it was."""

    ledger = make(MANDATE)
    first = submit(ledger)
    before = effects(ledger)

    assert SubmitResult("key_conflict") == submit(ledger, action=other)
    assert before == effects(ledger)
    assert first.receipt == ledger.read(KEY, 0).receipt


def test_a_conflict_is_seen_before_fence_mandate_and_budget(make: Make) -> None:
    """It is a fact of the history too."""

    ledger = make(MANDATE, budget=BudgetPolicy(1))
    submit(ledger)
    with atomic(ledger.db):
        both(ledger)

    assert SubmitResult("key_conflict") == submit(ledger, action=replace(CHARGE, amount_minor=1))


def test_an_older_epoch_is_refused_and_changes_nothing(make: Make) -> None:
    """The slow worker that is not dead meets this."""

    ledger = make(MANDATE)
    with atomic(ledger.db):
        ledger.fence("order-1001", 2)

    assert SubmitResult("stale_epoch") == submit(ledger, epoch=1)
    assert effects(ledger) == []
    assert submit(ledger, epoch=2).status == "committed"


def test_the_epoch_is_learnt_from_a_submit_as_well(make: Make) -> None:
    """Whoever has paid under 3 has fenced 2 without a word."""

    ledger = make(MANDATE)
    submit(ledger, epoch=3)

    assert SubmitResult("stale_epoch") == submit(ledger, key="order-1001:charge:again", epoch=2)


def refused_for_its_mandate(ledger: Ledger) -> SubmitResult:
    return submit(ledger, action=replace(CHARGE, amount_minor=1), epoch=5)


def refused_for_its_key(ledger: Ledger) -> SubmitResult:
    submit(ledger)
    return submit(ledger, action=replace(CHARGE, amount_minor=1), epoch=5)


def replayed(ledger: Ledger) -> SubmitResult:
    submit(ledger)
    return submit(ledger, epoch=5)


@pytest.mark.parametrize("call", [refused_for_its_mandate, refused_for_its_key, replayed])
def test_the_epoch_is_learnt_from_every_submit_whatever_its_answer(
    make: Make, call: Callable[[Ledger], SubmitResult]
) -> None:
    """A newer worker that was refused, or only repeated itself, is still the newer worker."""

    ledger = make(MANDATE)

    assert call(ledger).status != "committed"
    assert ledger.highest_epoch("order-1001") == 5
    assert SubmitResult("stale_epoch") == submit(ledger, key="order-1001:charge:again", epoch=4)


def test_epochs_of_different_subjects_know_nothing_of_each_other(make: Make) -> None:
    """One order's takeover does not stop another's worker."""

    ledger = make(MANDATE)
    with atomic(ledger.db):
        ledger.fence("order-1002", 9)

    assert submit(ledger, epoch=0).status == "committed"
    assert (ledger.highest_epoch("order-1001"), ledger.highest_epoch("order-1002")) == (0, 9)


def test_a_fence_never_falls(make: Make) -> None:
    """An old announcement that arrives late changes nothing."""

    ledger = make()
    with atomic(ledger.db):
        found = [ledger.fence("order-1001", epoch) for epoch in (2, 1, 3, 0)]

    assert found == [2, 2, 3, 3]


MANDATES = {
    "mandate_missing": (), "mandate_mismatch": (Mandate("order-1001", 4001, "USD"),),
}  # fmt: skip


@pytest.mark.parametrize(("status", "mandates"), MANDATES.items())
def test_a_new_effect_needs_a_mandate_for_exactly_this(
    make: Make, status: str, mandates: tuple[Mandate, ...]
) -> None:
    """Read inside the payment's transaction."""

    ledger = make(*mandates)

    assert (status, None) == (submit(ledger).status, submit(ledger).receipt)
    assert effects(ledger) == []


@pytest.mark.parametrize(
    "other", [Mandate("order-1001", 4000, "EUR"), Mandate("order-1001", 1, "USD")], ids=str
)
def test_amount_and_currency_both_have_to_fit(make: Make, other: Mandate) -> None:
    """A permission is not stretched."""

    assert submit(make(other)).status == "mandate_mismatch"


def test_another_orders_mandate_is_none(make: Make) -> None:
    """Permission is for one subject."""

    assert submit(make(Mandate("order-1002", 4000, "USD"))).status == "mandate_missing"


def test_a_revoked_mandate_permits_nothing_new_until_it_is_granted_again(make: Make) -> None:
    """The latest grant rules; the row of the earlier one stays."""

    ledger = make(MANDATE)
    with atomic(ledger.db):
        ledger.revoke_mandate("order-1001", 500)
    refused = submit(ledger)
    with atomic(ledger.db):
        ledger.grant_mandate(MANDATE, 1500)

    assert (refused.status, submit(ledger, now_ms=2000).status) == ("mandate_revoked", "committed")
    assert [row["revoked_at_ms"] for row in sqlite.rows(ledger.db, "SELECT * FROM mandates")] == [500, None]


def test_revoking_what_was_never_granted_is_an_error(make: Make) -> None:
    """Zero rows updated are not taken for a revocation; revoking twice keeps the first time."""

    ledger = make(MANDATE)
    with pytest.raises(UnknownName, match="order-1002 has no mandate"), atomic(ledger.db):
        ledger.revoke_mandate("order-1002", 500)
    with atomic(ledger.db):
        ledger.revoke_mandate("order-1001", 500)
        ledger.revoke_mandate("order-1001", 900)

    assert [row["revoked_at_ms"] for row in sqlite.rows(ledger.db, "SELECT * FROM mandates")] == [500]


def test_a_ledger_may_do_without_mandates(make: Make) -> None:
    """A message needs no standing permission; the other rules hold."""

    ledger = make(required=False)

    assert submit(ledger).status == "committed"


def order(number: int, amount_minor: int = 4000, currency: str = "USD") -> Action:
    """Another order's charge."""
    return Action("charge", f"order-{number}", amount_minor, currency)


BUDGETS = {
    "no effect at all": (BudgetPolicy(0), [(order(1), "budget_action_limit")]),
    "one effect": (BudgetPolicy(1), [(order(1), "committed"), (order(2), "budget_action_limit")]),
    "exactly the cap": (BudgetPolicy(None, (("USD", 8000),)), [(order(1), "committed"), (order(2), "committed"),
                                                               (order(3, 1), "budget_currency_limit")]),
    "one unit over": (BudgetPolicy(None, (("USD", 3999),)), [(order(1), "budget_currency_limit"), (order(2, 3999), "committed")]),
    "a cap of zero": (BudgetPolicy(None, (("USD", 0),)), [(order(1, 1), "budget_currency_limit"), (order(2, 0), "committed")]),
    "currencies apart": (BudgetPolicy(None, (("USD", 4000), ("EUR", 4000))), [
        (order(1), "committed"), (order(2, 4000, "EUR"), "committed"), (order(3, 1, "EUR"), "budget_currency_limit")]),
    "a currency without a cap": (BudgetPolicy(None, (("USD", 4000),)), [(order(1, 1, "EUR"), "budget_currency_unknown")]),
    "the count comes first": (BudgetPolicy(0, (("USD", 0),)), [(order(1, 1, "EUR"), "budget_action_limit")]),
    "no cap": (BudgetPolicy(), [(order(number, 2**53 - 1), "committed") for number in range(5)]),
    "none set at all": (None, [(order(number), "committed") for number in range(5)]),
}  # fmt: skip


@pytest.mark.parametrize(("budget", "calls"), BUDGETS.values(), ids=BUDGETS)
def test_capacity_follows_from_committed_rows(
    make: Make, budget: BudgetPolicy | None, calls: list[tuple[Action, str]]
) -> None:
    """Effects and minor units by currency; whatever does not fit is refused whole."""

    ledger = make(budget=budget, required=False)

    assert [status for _, status in calls] == [
        submit(ledger, action.subject, action).status for action, _ in calls
    ]
    assert sum(status == "committed" for _, status in calls) == len(effects(ledger))


def test_fence_mandate_and_capacity_are_asked_in_this_order(make: Make) -> None:
    """Where several would refuse, the first of them answers."""

    ledger = make(Mandate("order-1001", 1, "USD"), budget=BudgetPolicy(0))
    with atomic(ledger.db):
        ledger.fence("order-1001", 2)
    everything_wrong = submit(ledger, epoch=1)
    no_mandate_no_room = submit(ledger, epoch=2)
    with atomic(ledger.db):
        ledger.grant_mandate(MANDATE, 1)
    no_room = submit(ledger, epoch=2)

    assert [result.status for result in (everything_wrong, no_mandate_no_room, no_room)] == [
        "stale_epoch",
        "mandate_mismatch",
        "budget_action_limit",
    ]


def test_without_an_operation_id_every_call_is_a_new_effect(make: Make) -> None:
    """Nothing to recognise it by: so the caller that does not know must not ask again."""

    ledger = make(MANDATE)
    results = [submit(ledger, key=None) for _ in range(3)]

    assert [result.status for result in results] == ["committed"] * 3
    assert [row["operation_id"] for row in effects(ledger)] == [None] * 3
    assert sqlite.rows(ledger.db, "SELECT * FROM keys") == []


def fenced(ledger: Ledger) -> None:
    ledger.fence("order-1001", 1)


def revoked(ledger: Ledger) -> None:
    ledger.revoke_mandate("order-1001", 500)


def spent(ledger: Ledger) -> None:
    ledger.submit("order-1001:first", CHARGE, 0, 500)


@pytest.mark.parametrize(
    ("change", "status"),
    [(fenced, "stale_epoch"), (revoked, "mandate_revoked"), (spent, "budget_action_limit")],
)
def test_a_call_without_an_id_is_under_the_same_rules(
    make: Make, change: Callable[[Ledger], None], status: str
) -> None:
    """Fence, mandate and capacity bind it too."""

    ledger = make(MANDATE, budget=BudgetPolicy(1))
    with atomic(ledger.db):
        change(ledger)

    assert status == submit(ledger, key=None).status


# --- what failures do to the allowance ------------------------------------------------------


def test_what_was_undone_consumed_nothing(make: Make) -> None:
    """The worker died between insert and commit: no effect, no key, the whole allowance."""

    ledger = make(MANDATE, budget=BudgetPolicy(1, (("USD", 4000),)))
    with pytest.raises(KeyboardInterrupt), atomic(ledger.db):
        raise KeyboardInterrupt(ledger.submit(KEY, CHARGE, 0, 1000).status)
    reopened = Ledger.open(ledger.path)
    allowance, reading, retried = budget_snapshot(reopened), reopened.read(KEY, 0).status, submit(reopened)
    reopened.db.close()

    assert BudgetSnapshot(0, {}, 1, {"USD": 4000}) == allowance
    assert (reading, retried.status) == ("absent", "committed")


def test_what_was_committed_stays_consumed_and_a_replay_consumes_no_more(make: Make) -> None:
    """Also for a process that has never heard of it."""

    ledger = make(MANDATE, budget=BudgetPolicy(1, (("USD", 4000),)))
    submit(ledger)
    reopened = Ledger.open(ledger.path)
    before = budget_snapshot(reopened)
    replay = submit(reopened)
    after = budget_snapshot(reopened)
    new = submit(reopened, key="order-1001:charge:2")
    reopened.db.close()

    assert BudgetSnapshot(1, {"USD": 4000}, 0, {"USD": 0}, deployment_authorized=False) == before == after
    assert (replay.status, new.status) == ("already_committed", "budget_action_limit")


def test_reconciliation_goes_on_after_revocation_and_new_effects_do_not(make: Make) -> None:
    """Reading and replaying are no new effects."""

    ledger = make(MANDATE)
    first = submit(ledger)
    with atomic(ledger.db):
        ledger.revoke_mandate("order-1001", 1500)

    assert ("committed", first.receipt) == (ledger.read(KEY, 2000).status, ledger.read(KEY, 2000).receipt)
    assert [submit(ledger).status, submit(ledger, key="another").status] == [
        "already_committed",
        "mandate_revoked",
    ]


def test_the_snapshot_says_what_is_capped_and_authorises_nothing(make: Make) -> None:
    """None where there is no cap; spending in an uncapped ledger is still counted."""

    ledger = make(MANDATE)
    submit(ledger)

    assert BudgetSnapshot(1, {"USD": 4000}, None, {}, deployment_authorized=False) == budget_snapshot(ledger)


def test_no_counter_is_stored(make: Make) -> None:
    """Nothing in the schema holds a sum that could disagree with the rows."""

    ledger = make()
    columns = {
        row["name"]
        for row in sqlite.rows(ledger.db, "SELECT i.name FROM sqlite_master m, pragma_table_info(m.name) i")
    }

    assert set() == {
        name
        for name in columns
        if any(word in name for word in ("spent", "remaining", "used", "charged", "count", "total"))
    }
    assert "amount_minor" in columns


# --- evidence -------------------------------------------------------------------------------


def test_every_submit_leaves_its_answer(make: Make) -> None:
    """Also the refused ones: evidence, by which nobody decides."""

    ledger = make(MANDATE)
    submit(ledger)
    submit(ledger)
    submit(ledger, action=replace(CHARGE, amount_minor=1))
    submit(ledger, key="another", action=order(9))

    assert statuses(ledger) == ["committed", "already_committed", "key_conflict", "mandate_missing"]


def test_the_postcondition_counts_effects_by_what_they_are(make: Make) -> None:
    """Independent of keys: two charges of one order are two, under whatever names."""

    ledger = make(MANDATE)
    submit(ledger)
    submit(ledger, key="order-1001:charge:2")
    found = ledger.effects_of("order-1001", "charge")

    assert [receipt.operation_id for receipt in found] == [KEY, "order-1001:charge:2"]
    assert [] == ledger.effects_of("order-1001", "refund") == ledger.effects_of("order-1002", "charge")


@pytest.mark.parametrize(
    "change", ["amount_minor = 1", "subject = 'order-2'", "operation_id = NULL", "epoch = 9"]
)
def test_a_row_that_was_changed_gives_a_receipt_that_is_not_intact(make: Make, change: str) -> None:
    """It is still shown: whoever reads it decides, and must not take it for proof."""

    ledger = make(MANDATE)
    submit(ledger)
    ledger.db.execute(f"UPDATE effects SET {change}")
    receipt = ledger.read(KEY, 0).receipt

    assert receipt is not None
    assert not receipt.is_intact


def test_a_known_key_whose_effect_is_gone_is_unknown_and_not_absent(make: Make) -> None:
    """Absent would be paid again; the honest answer is that nobody can tell."""

    ledger = make(MANDATE)
    submit(ledger)
    ledger.db.execute("PRAGMA foreign_keys=OFF")
    ledger.db.execute("DELETE FROM effects")

    assert (ledger.read(KEY, 0).status, ledger.read(KEY, 0).receipt) == ("unknown", None)
    with pytest.raises(AmbiguousOutcome, match="lacks its effect: reconcile it") as raised:
        submit(ledger)
    assert raised.value.effect == "maybe"
    assert effects(ledger) == []


def test_a_read_changes_nothing(make: Make) -> None:
    """Not a byte."""

    ledger = make(MANDATE)
    submit(ledger)
    before = ledger.path.read_bytes()
    readings = [asdict(ledger.read(key, 5)) for key in (KEY, "another")]

    assert [reading["status"] for reading in readings] == ["committed", "absent"]
    assert [reading["source"] for reading in readings] == ["payments", "payments"]
    assert before == ledger.path.read_bytes()


def test_a_key_points_at_an_effect(make: Make) -> None:
    """The file itself refuses a key for nothing, and a second policy."""

    ledger = make()
    with pytest.raises(sqlite3.IntegrityError):
        ledger.db.execute("INSERT INTO keys VALUES ('k', 'd', 99)")
    with pytest.raises(sqlite3.IntegrityError):
        ledger.db.execute("INSERT INTO policy VALUES (2, 'other', 0, NULL)")
