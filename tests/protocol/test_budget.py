"""The allowance as committed rows leave it, after each failure that could be thought to change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.boundaries import Boundary
from labkit.protocol.budget import budget_snapshot
from labkit.stores.sqlite import atomic
from labkit.values import BudgetPolicy, BudgetSnapshot

ONE_CHARGE = BudgetPolicy(max_effects=1, caps_minor=(("EUR", 500), ("USD", 4000)))
UNTOUCHED = BudgetSnapshot(0, {}, 1, {"EUR": 500, "USD": 4000})
CONSUMED = BudgetSnapshot(1, {"USD": 4000}, 0, {"EUR": 500, "USD": 0})


def test_before_the_first_effect_everything_remains(empty_desk: Any) -> None:
    """By number and by currency; and a snapshot never authorises anything."""

    snapshot = budget_snapshot(empty_desk.prepare(budget=ONE_CHARGE).ledger)

    assert snapshot == UNTOUCHED
    assert snapshot.deployment_authorized is False


def test_a_ledger_without_caps_counts_and_limits_nothing(desk: Any) -> None:
    """None and an empty table mean no cap, not zero."""

    desk.first()

    assert budget_snapshot(desk.ledger) == BudgetSnapshot(1, {"USD": 4000}, None, {})


def test_dying_before_the_commit_consumes_nothing(empty_desk: Any) -> None:
    """The row was inserted, and its transaction died with the worker."""

    desk = empty_desk.prepare(budget=ONE_CHARGE)
    desk.first_dies_at(Boundary.EFFECT_INSERTED)

    assert budget_snapshot(desk.ledger) == UNTOUCHED


def test_dying_after_the_commit_leaves_it_consumed_and_a_replay_consumes_no_more(empty_desk: Any) -> None:
    """The allowance did not come back because a process went."""

    desk = empty_desk.prepare(budget=ONE_CHARGE)
    desk.first_dies_at(Boundary.EFFECT_COMMITTED)
    assert budget_snapshot(desk.ledger) == CONSUMED

    assert desk.resume() == "OUTCOME_VERIFIED"
    assert desk.ledger.read("order-1001:charge", 0).status == "committed"
    assert budget_snapshot(desk.ledger) == CONSUMED


def test_losing_the_journal_resets_nothing(empty_desk: Any) -> None:
    """Consumption is the ledger's; the journal holds no counter to lose."""

    desk = empty_desk.prepare(budget=ONE_CHARGE)
    desk.first()
    for name in Path(desk.folder).glob("journal.sqlite3*"):
        name.unlink()

    assert budget_snapshot(desk.ledger) == CONSUMED


def test_a_revoked_mandate_gives_nothing_back(empty_desk: Any) -> None:
    """What was paid under it is paid."""

    desk = empty_desk.prepare(budget=ONE_CHARGE)
    desk.first()
    desk.revoke_mandate()

    assert budget_snapshot(desk.ledger) == CONSUMED


def test_an_exact_replay_consumes_nothing_and_a_new_key_is_refused(empty_desk: Any) -> None:
    """Cap one: `already_committed` for the old key, `budget_action_limit` for a new one."""

    desk = empty_desk.prepare(budget=ONE_CHARGE)
    desk.first()
    action, ledger = desk.operation.action, desk.ledger
    with atomic(ledger.db):
        answers = [ledger.submit(key, action, 9, 3000).status for key in ("order-1001:charge", "new-key")]

    assert answers == ["already_committed", "budget_action_limit"]
    assert budget_snapshot(desk.ledger) == CONSUMED


def test_zero_is_a_cap_by_number_and_by_currency(empty_desk: Any) -> None:
    """Zero remains zero; it is not taken for no cap."""

    policy = BudgetPolicy(max_effects=0, caps_minor=(("USD", 0),))

    assert budget_snapshot(empty_desk.prepare(budget=policy).ledger) == BudgetSnapshot(0, {}, 0, {"USD": 0})
