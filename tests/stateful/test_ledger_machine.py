"""A ledger on disk against a model in a dict: every answer and every row, over long random histories.

Submits, replays, revocations, takeovers, crashes before the commit and reopenings come in any order.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from labkit.harness.folders import scratch_folder
from labkit.protocol.budget import budget_snapshot
from labkit.providers.file import FileProvider
from labkit.stores import sqlite
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action, BudgetPolicy, BudgetSnapshot, Mandate, SubmitResult

SUBJECTS = st.sampled_from(["order-1", "order-2"])
AMOUNTS = st.integers(0, 3)
CURRENCIES = st.sampled_from(["USD", "EUR"])
KEYS = st.sampled_from([f"key-{number}" for number in range(8)])
LATENESS = st.sampled_from([0, 0, 0, 1, -1])  # of a worker's epoch, against the highest known
CAP = st.integers(0, 6)
CAPS = (
    st.just(())
    | st.tuples(st.tuples(st.just("USD"), CAP))
    | st.tuples(st.tuples(st.just("EUR"), CAP), st.tuples(st.just("USD"), CAP))
)
BUDGETS = st.none() | st.builds(BudgetPolicy, st.sampled_from([None, None, None, 0, 3, 6]), CAPS)
ACTIONS = st.builds(Action, st.just("charge"), SUBJECTS, AMOUNTS, CURRENCIES)


class Crash(BaseException):
    """The process dies here."""


@dataclass
class Model:
    """The contract in a few dicts.  `effects` holds (key, action, epoch) in the order of their commits."""

    budget: BudgetPolicy
    effects: list[tuple[str | None, Action, int]] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    mandates: dict[str, tuple[int, str, bool]] = field(default_factory=dict)

    def spent(self) -> dict[str, int]:
        """Minor units by currency, of every currency that was ever paid in."""
        found: dict[str, int] = {}
        for _, action, _ in self.effects:
            found[action.currency] = found.get(action.currency, 0) + action.amount_minor
        return found

    def answer(self, key: str | None, action: Action, epoch: int) -> str:
        """What the contract answers: history, fence, mandate, capacity, in this order."""
        if key in self.keys:
            same = self.effects[self.keys[key]][1] == action
            return "already_committed" if same else "key_conflict"
        if epoch < self.epochs.get(action.subject, 0):
            return "stale_epoch"
        return self._mandate(action) or self._capacity(action) or "committed"

    def _mandate(self, action: Action) -> str | None:
        if action.subject not in self.mandates:
            return "mandate_missing"
        amount_minor, currency, revoked = self.mandates[action.subject]
        if revoked:
            return "mandate_revoked"
        return (
            None if (amount_minor, currency) == (action.amount_minor, action.currency) else "mandate_mismatch"
        )

    def _capacity(self, action: Action) -> str | None:
        if self.budget.max_effects is not None and len(self.effects) + 1 > self.budget.max_effects:
            return "budget_action_limit"
        caps = dict(self.budget.caps_minor)
        if not caps:
            return None
        if action.currency not in caps:
            return "budget_currency_unknown"
        after = self.spent().get(action.currency, 0) + action.amount_minor
        return "budget_currency_limit" if after > caps[action.currency] else None

    def learn(self, subject: str, epoch: int) -> None:
        """The highest epoch heard of."""
        self.epochs[subject] = max(epoch, self.epochs.get(subject, 0))


class LedgerMachine(RuleBasedStateMachine):
    """Each rule does one thing to the ledger and to the model; the invariants compare them whole."""

    @initialize(budget=BUDGETS)
    def open_a_new_one(self, budget: BudgetPolicy | None) -> None:
        """A fresh file under a budget, or without one."""
        self.folder = scratch_folder("lab-machine-")
        self.ledger = Ledger.create(self.folder / "ledger.sqlite3", budget=budget)
        self.model = Model(budget or BudgetPolicy())
        self.receipts: dict[str, Any] = {}
        self.now_ms = 0

    def provider(self) -> FileProvider:
        """The worker's view, a little later than before."""
        self.now_ms += 1
        return FileProvider(self.ledger, self.now_ms)

    @rule(subject=SUBJECTS, amount_minor=AMOUNTS, currency=CURRENCIES)
    def grant(self, subject: str, amount_minor: int, currency: str) -> None:
        """Permit one amount of one currency, whatever was permitted before."""
        with atomic(self.ledger.db):
            self.ledger.grant_mandate(Mandate(subject, amount_minor, currency), self.now_ms)
        self.model.mandates[subject] = (amount_minor, currency, False)

    @precondition(lambda self: self.model.mandates)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        """Withdraw what one subject was permitted."""
        subject = data.draw(st.sampled_from(sorted(self.model.mandates)))
        with atomic(self.ledger.db):
            self.ledger.revoke_mandate(subject, self.now_ms)
        self.model.mandates[subject] = (*self.model.mandates[subject][:2], True)

    @rule(subject=SUBJECTS, epoch=st.integers(0, 3))
    def fence(self, subject: str, epoch: int) -> None:
        """A takeover is announced, perhaps late."""
        self.model.learn(subject, epoch)

        assert self.model.epochs[subject] == self.provider().fence(subject, epoch)

    @rule(
        requests=st.lists(
            st.tuples(st.none() | KEYS, ACTIONS, LATENESS, st.booleans()), min_size=1, max_size=8
        )
    )
    def submit_some(self, requests: list[tuple[str | None, Action, int, bool]]) -> None:
        """Requests in a row, some just permitted, some late: (key, action, lateness, permitted)."""
        for key, action, late, permitted in requests:
            if permitted:
                self.grant(action.subject, action.amount_minor, action.currency)
            self.submit(key, action, max(0, self.model.epochs.get(action.subject, 0) - late))

    def submit(self, key: str | None, action: Action, epoch: int) -> None:
        """One request; the answer is the model's, and the receipt of a new effect is kept for ever."""
        expected = self.model.answer(key, action, epoch)
        result = self.provider().submit(key, action, epoch)
        self.model.learn(action.subject, epoch)
        if expected == "committed":
            self.model.effects.append((key, action, epoch))
            if key is not None:
                self.model.keys[key] = len(self.model.effects) - 1
                self.receipts[key] = result.receipt

        assert expected == result.status
        assert (expected in ("committed", "already_committed")) == (result.receipt is not None)

    @precondition(lambda self: self.model.keys)
    @rule(data=st.data(), epoch=st.integers(0, 3))
    def replay(self, data: st.DataObject, epoch: int) -> None:
        """A known request again, under any epoch: the original receipt."""
        key = data.draw(st.sampled_from(sorted(self.model.keys)))
        action = self.model.effects[self.model.keys[key]][1]
        self.model.learn(action.subject, epoch)

        assert SubmitResult("already_committed", self.receipts[key]) == self.provider().submit(
            key, action, epoch
        )

    @rule(key=st.none() | KEYS, action=ACTIONS, epoch=st.integers(0, 3))
    def die_before_the_commit(self, key: str | None, action: Action, epoch: int) -> None:
        """Whatever would have been decided: nothing of it has happened, no epoch was learnt."""
        with pytest.raises(Crash), atomic(self.ledger.db):
            raise Crash(self.ledger.submit(key, action, epoch, self.now_ms).status)

    @rule()
    def reopen(self) -> None:
        """Another process goes on."""
        self.ledger.db.close()
        self.ledger = Ledger.open(self.folder / "ledger.sqlite3")

    @rule(key=KEYS)
    def read(self, key: str) -> None:
        """The owner's word on one operation."""
        reading = self.provider().read(key)

        assert ("committed" if key in self.model.keys else "absent") == reading.status
        assert self.receipts.get(key) == reading.receipt

    @invariant()
    def the_rows_are_the_models(self) -> None:
        """Effects in order, with the epochs they came under; every receipt intact."""
        rows = sqlite.rows(self.ledger.db, "SELECT * FROM effects ORDER BY effect_id")
        receipts = [self.ledger.receipt(row["effect_id"]) for row in rows]

        assert [(key, action.digest, epoch) for key, action, epoch in self.model.effects] == [
            (row["operation_id"], row["action_digest"], row["epoch"]) for row in rows
        ]
        assert all(receipt is not None and receipt.is_intact for receipt in receipts)
        assert all(row["epoch"] >= row["highest_epoch"] for row in rows)

    @invariant()
    def the_allowance_follows_and_is_never_passed(self) -> None:
        """Consumption is what stands; what remains is the rest, and is not negative."""
        budget, spent = self.model.budget, self.model.spent()
        left = None if budget.max_effects is None else budget.max_effects - len(self.model.effects)
        left_minor = {currency: cap - spent.get(currency, 0) for currency, cap in budget.caps_minor}

        assert BudgetSnapshot(len(self.model.effects), spent, left, left_minor) == budget_snapshot(
            self.ledger
        )
        assert left is None or left >= 0
        assert all(rest >= 0 for rest in left_minor.values())

    @invariant()
    def fences_are_the_models(self) -> None:
        """The highest epoch by subject, never lower than before."""
        for subject in ("order-1", "order-2"):
            assert self.model.epochs.get(subject, 0) == self.ledger.highest_epoch(subject)

    def teardown(self) -> None:
        """Nothing is left behind."""
        if hasattr(self, "folder"):
            self.ledger.db.close()
            shutil.rmtree(self.folder)


def test_the_ledger_is_its_model() -> None:
    """Long histories of every kind of event, the same ones in each run."""

    run_state_machine_as_test(LedgerMachine, settings=settings(max_examples=60, stateful_step_count=25))
