"""A desk with the three stores of one payment, for tests that run the protocol in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from labkit.boundaries import Boundary, Reached, nowhere
from labkit.harness import worlds
from labkit.protocol.attempt import CODE_PATH, first_run
from labkit.protocol.parties import Parties
from labkit.protocol.resume import resume
from labkit.protocol.states import State
from labkit.providers.file import FileProvider
from labkit.providers.interface import Provider
from labkit.stores import chain, sqlite
from labkit.stores.authority import Authority
from labkit.stores.journal import Journal, new_operation
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action, Approval, BudgetPolicy, Mandate, Operation

ACTION = Action("charge", "order-1001", 4000, "USD")
ID = "order-1001:charge"
WORKFLOW = "order-1001"
EXPIRES_AT_MS = 10_000

Wrap = Callable[[Provider], Provider]


class Died(BaseException):
    """Stands for the end of the process, as far as one process can play it: nothing after it runs."""


def dying_at(boundary: Boundary) -> Reached:
    """An announcer that ends the run at a boundary."""

    def reached(now: Boundary) -> None:
        if now == boundary:
            raise Died

    return reached


@dataclass
class Desk:
    """The stores in one folder; every call opens them anew, as another process would."""

    folder: Path
    busy_timeout_s: float = 0.2
    open_dbs: list[sqlite.StoreConnection] = field(default_factory=list)

    def prepare(self, budget: BudgetPolicy | None = None, **operation: Any) -> Desk:
        """A recorded intent, an approval until `EXPIRES_AT_MS`, a mandate; all at time 0."""
        operation = {"approval_id": "approval-1", **operation}
        with atomic(self._keep(journal := Journal.create(self.folder / "journal.sqlite3"))):
            journal.begin(WORKFLOW, CODE_PATH, 0)
            journal.intend(new_operation(ID, WORKFLOW, "charge", ACTION, **operation), 0)
        with atomic(self._keep(ledger := Ledger.create(self.folder / "ledger.sqlite3", budget=budget))):
            ledger.grant_mandate(Mandate(ACTION.subject, ACTION.amount_minor, ACTION.currency), 0)
        with atomic(self._keep(authority := Authority.create(self.folder / "authority.sqlite3"))):
            authority.approve(self.approval())
        return self

    @staticmethod
    def approval(approval_id: str = "approval-1", action: Action = ACTION, **more: Any) -> Approval:
        """An approval of these bytes."""
        terms = {"subject_revision": 0, "actor": "alice", "policy_version": 1, "expires_at_ms": EXPIRES_AT_MS}
        return Approval(
            approval_id=approval_id, action_digest=action.digest, subject=action.subject, **{**terms, **more}
        )

    def parties(
        self,
        now_ms: int = 1000,
        reached: Reached = nowhere,
        wrap: Wrap = lambda provider: provider,
        actor: str = "worker",
    ) -> Parties:
        """The parties to one run, with connections of their own."""
        journal = Journal.open(self.folder / "journal.sqlite3", self.busy_timeout_s)
        authority = Authority.open(self.folder / "authority.sqlite3", self.busy_timeout_s)
        ledger = Ledger.open(self.folder / "ledger.sqlite3", self.busy_timeout_s)
        for store in (journal, authority, ledger):
            self._keep(store)
        provider = wrap(FileProvider(ledger, now_ms, reached))
        return Parties(journal, authority, provider, now_ms, actor, reached)

    def first(self, now_ms: int = 1000, reached: Reached = nowhere, wrap: Wrap = lambda it: it) -> State:
        """The first run, as one process would make it."""
        return first_run(self.parties(now_ms, reached, wrap), self.operation)

    def resume(self, now_ms: int = 2000, reached: Reached = nowhere, wrap: Wrap = lambda it: it) -> State:
        """The seven moves, as one process would make them."""
        return resume(self.parties(now_ms, reached, wrap, "resumer"), WORKFLOW)

    def first_dies_at(self, boundary: Boundary, now_ms: int = 1000) -> None:
        """A first run that ends at a boundary."""
        with pytest.raises(Died):
            self.first(now_ms, dying_at(boundary))

    def resume_dies_at(self, boundary: Boundary, now_ms: int = 2000) -> None:
        """A resume that ends at a boundary."""
        with pytest.raises(Died):
            self.resume(now_ms, dying_at(boundary))

    # --- what there is ----------------------------------------------------------------------

    @property
    def journal(self) -> Journal:
        """The journal, over a new connection."""
        return self._opened(Journal.open(self.folder / "journal.sqlite3", self.busy_timeout_s))

    @property
    def ledger(self) -> Ledger:
        """The ledger, over a new connection."""
        return self._opened(Ledger.open(self.folder / "ledger.sqlite3", self.busy_timeout_s))

    @property
    def authority(self) -> Authority:
        """The authority, over a new connection."""
        return self._opened(Authority.open(self.folder / "authority.sqlite3", self.busy_timeout_s))

    @property
    def operation(self) -> Operation:
        """The one operation, as the journal has it."""
        return self.journal.operation(ID)

    @property
    def state(self) -> str:
        """Its state."""
        return self.operation.state

    @property
    def effects(self) -> list[dict[str, Any]]:
        """Every effect in the ledger."""
        return sqlite.rows(self.ledger.db, "SELECT * FROM effects ORDER BY effect_id")

    def table(self, name: str) -> list[dict[str, Any]]:
        """A table of the journal, in the order in which it was written."""
        return sqlite.rows(self.journal.db, f"SELECT * FROM {name} ORDER BY rowid")

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The bodies of the journal's events of these kinds; of all of them where none is named."""
        return [
            chain.body_of(event)
            for event in self.journal.events(WORKFLOW)
            if not kinds or event["kind"] in kinds
        ]

    @property
    def path(self) -> list[str]:
        """The states that the operation moved to, in order."""
        return [body["to"] for body in self.events("moved")]

    @property
    def receipts(self) -> list[dict[str, Any]]:
        """The recovery receipts, in order."""
        return [chain.json_of(row["receipt"]) for row in self.table("recovery_receipts")]

    # --- what may happen to it --------------------------------------------------------------

    def change(self, store: str, sql: str, *values: object) -> None:
        """Change rows behind the protocol's back, as a fault or another program would."""
        db = getattr(self, store).db
        with atomic(db):
            db.execute(sql, values)

    def do(self, store: str, change: Callable[[Any], object]) -> None:
        """Change a store through its own methods, in one transaction."""
        owner = getattr(self, store)
        with atomic(owner.db):
            change(owner)

    def put_in_state(self, state: str) -> None:
        """Write a state into the journal, whatever led there."""
        self.change("journal", "UPDATE operations SET state = ?", state)

    def revoke_mandate(self) -> None:
        """The provider's permission is withdrawn."""
        self.do("ledger", lambda ledger: ledger.revoke_mandate(ACTION.subject, 1500))

    def raise_policy_version(self) -> None:
        """Approvals of the older policy are stale."""
        self.do("authority", lambda authority: authority.raise_policy_version(1500))

    def _keep(self, store: Journal | Ledger | Authority) -> sqlite.StoreConnection:
        self.open_dbs.append(store.db)
        return store.db

    def _opened(self, store: Any) -> Any:
        self._keep(store)
        return store


@pytest.fixture
def empty_desk() -> Iterator[Desk]:
    """A desk without stores, for tests that say themselves what is prepared.  On tmpfs: no disk to wait for."""
    desk = Desk(worlds.scratch_folder("desk-"))
    yield desk
    for db in desk.open_dbs:
        db.close()
    shutil.rmtree(desk.folder)


@pytest.fixture
def desk(empty_desk: Desk) -> Desk:
    """A desk with an approved and permitted payment that nobody has tried."""
    return empty_desk.prepare()
