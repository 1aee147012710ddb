"""The provider's store: effects, idempotency keys, mandates, epochs and the budget.

Only this file knows whether an effect happened.  No method commits: the provider writes inside
`with atomic(ledger.db):`, so that the whole decision of `submit` stands or falls as one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit import canonical
from labkit.stores import capacity, sqlite
from labkit.values import (
    Action,
    BudgetPolicy,
    Mandate,
    Reading,
    Receipt,
    SubmitResult,
    SubmitStatus,
    receipt_digest,
)

SCHEMA = sqlite.Schema("ledger", 0x4C4B4C31, 1, sqlite.load_sql("ledger.sql"))
RECEIPT_COLUMNS = (
    "effect_id, operation_id, action_digest, kind, subject, amount_minor, currency, epoch, committed_at_ms"
)


class Ledger:
    """The ledger's tables over one open connection."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db
        self.path = db.path

    @classmethod
    def create(
        cls,
        path: Path,
        name: str = "payments",
        mandate_required: bool = True,
        budget: BudgetPolicy | None = None,
    ) -> Ledger:
        """A new ledger file; its budget is fixed here.  Raises: OutputInUse, StoreUnwritable."""
        db = sqlite.create(path, SCHEMA)
        with sqlite.atomic(db):
            values = (name, int(mandate_required), budget.max_effects if budget else None)
            db.execute(
                "INSERT INTO policy (only_row, name, mandate_required, max_effects) VALUES (1, ?, ?, ?)",
                values,
            )
            for cap in budget.caps_minor if budget else ():
                db.execute("INSERT INTO currency_caps (currency, cap_minor) VALUES (?, ?)", cap)
        return cls(db)

    @classmethod
    def open(cls, path: Path, busy_timeout_s: float = sqlite.BUSY_TIMEOUT_S) -> Ledger:
        """An existing ledger file.  Raises: BadStore, StoreLocked."""
        return cls(sqlite.open_store(path, SCHEMA, busy_timeout_s))

    # --- permission -------------------------------------------------------------------------

    def grant_mandate(self, mandate: Mandate, now_ms: int) -> None:
        """Permit one amount and currency for one subject."""
        self.db.execute(
            "INSERT INTO mandates (subject, amount_minor, currency, granted_at_ms) VALUES (?, ?, ?, ?)",
            (mandate.subject, mandate.amount_minor, mandate.currency, now_ms),
        )

    def revoke_mandate(self, subject: str, now_ms: int) -> None:
        """Withdraw the subject's mandate.  What it permitted earlier stays in the ledger."""
        self.db.execute(
            "UPDATE mandates SET revoked_at_ms = ? WHERE subject = ? AND revoked_at_ms IS NULL",
            (now_ms, subject),
        )

    def fence(self, subject: str, epoch: int) -> int:
        """Learn of an epoch and return the highest one seen for the subject."""
        self.db.execute(
            "INSERT INTO fences (subject, highest_epoch) VALUES (?, ?)"
            " ON CONFLICT (subject) DO UPDATE SET highest_epoch = max(highest_epoch, excluded.highest_epoch)",
            (subject, epoch),
        )
        return self.highest_epoch(subject)

    # --- the one decision -------------------------------------------------------------------

    def submit(self, operation_id: str | None, action: Action, epoch: int, now_ms: int) -> SubmitResult:
        """Historical replay -> fence -> mandate -> capacity -> insert.  The caller commits.

        The order is the contract: what has happened is reported whatever permission says today.
        """
        result = self._replay(operation_id, action) or self._refusal(action, epoch)
        if result is None:
            highest = self.fence(action.subject, epoch)
            result = SubmitResult("committed", self._insert(operation_id, action, (epoch, highest), now_ms))
        self.db.execute(
            "INSERT INTO invocations (operation_id, action_digest, subject, epoch, status, at_ms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (operation_id, action.digest, action.subject, epoch, result.status, now_ms),
        )
        return result

    def _replay(self, operation_id: str | None, action: Action) -> SubmitResult | None:
        if operation_id is None:
            return None
        key = self.db.execute(
            "SELECT action_digest, effect_id FROM keys WHERE operation_id = ?", (operation_id,)
        ).fetchone()
        if key is None:
            return None
        if key["action_digest"] != action.digest:
            return SubmitResult("key_conflict")
        return SubmitResult("already_committed", self.receipt(key["effect_id"]))

    def _refusal(self, action: Action, epoch: int) -> SubmitResult | None:
        status: SubmitStatus | None = None
        if epoch < self.highest_epoch(action.subject):
            status = "stale_epoch"
        status = status or self._mandate_refusal(action) or self._capacity_refusal(action)
        return SubmitResult(status) if status else None

    def _mandate_refusal(self, action: Action) -> SubmitStatus | None:
        if not self.db.execute("SELECT mandate_required FROM policy").fetchone()[0]:
            return None
        mandate = self.db.execute(
            "SELECT * FROM mandates WHERE subject = ? ORDER BY mandate_id DESC LIMIT 1", (action.subject,)
        ).fetchone()
        if mandate is None:
            return "mandate_missing"
        if mandate["revoked_at_ms"] is not None:
            return "mandate_revoked"
        if (mandate["amount_minor"], mandate["currency"]) != (action.amount_minor, action.currency):
            return "mandate_mismatch"
        return None

    def _capacity_refusal(self, action: Action) -> SubmitStatus | None:
        return capacity.refusal(self.budget_policy(), *self.consumption(), action)

    def _insert(
        self, operation_id: str | None, action: Action, epochs: tuple[int, int], now_ms: int
    ) -> Receipt:
        row = {
            "operation_id": operation_id, "action_digest": action.digest, "kind": action.kind,
            "subject": action.subject, "amount_minor": action.amount_minor, "currency": action.currency,
            "details": canonical.canonical_bytes(dict(action.details)).decode(),
            "epoch": epochs[0], "highest_epoch": epochs[1], "committed_at_ms": now_ms, "receipt_digest": "",
        }  # fmt: skip
        insert = f"INSERT INTO effects ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
        effect_id = int(self.db.execute(insert, row).lastrowid or 0)
        sealed = receipt_digest(self._receipt_content(effect_id))
        self.db.execute("UPDATE effects SET receipt_digest = ? WHERE effect_id = ?", (sealed, effect_id))
        if operation_id is not None:
            self.db.execute("INSERT INTO keys VALUES (?, ?, ?)", (operation_id, action.digest, effect_id))
        return self.receipt(effect_id)

    # --- reading ----------------------------------------------------------------------------

    def read(self, operation_id: str, now_ms: int) -> Reading:
        """What this ledger knows of an operation: `committed` with its receipt, or `absent`."""
        key = self.db.execute("SELECT effect_id FROM keys WHERE operation_id = ?", (operation_id,)).fetchone()
        if key is None:
            return Reading("absent", None, self.name, now_ms)
        return Reading("committed", self.receipt(key["effect_id"]), self.name, now_ms)

    def receipt(self, effect_id: int) -> Receipt:
        """The receipt of one effect as its row states it; `is_intact` tells whether the row was changed."""
        sealed = self.db.execute(
            "SELECT receipt_digest FROM effects WHERE effect_id = ?", (effect_id,)
        ).fetchone()[0]
        return Receipt(**self._receipt_content(effect_id), digest=sealed)

    def _receipt_content(self, effect_id: int) -> dict[str, Any]:
        row = self.db.execute(
            f"SELECT {RECEIPT_COLUMNS} FROM effects WHERE effect_id = ?", (effect_id,)
        ).fetchone()
        return {"ledger": self.name, **dict(row)}

    def effects_of(self, subject: str, kind: str) -> list[Receipt]:
        """All effects of one kind for one subject: the business fact, independent of any key."""
        found = self.db.execute(
            "SELECT effect_id FROM effects WHERE subject = ? AND kind = ? ORDER BY effect_id", (subject, kind)
        ).fetchall()
        return [self.receipt(row["effect_id"]) for row in found]

    def highest_epoch(self, subject: str) -> int:
        """The highest epoch that this provider has seen for a subject; 0 before the first."""
        row = self.db.execute("SELECT highest_epoch FROM fences WHERE subject = ?", (subject,)).fetchone()
        return int(row[0]) if row else 0

    @property
    def name(self) -> str:
        """The ledger's name, as receipts and readings give it."""
        return str(self.db.execute("SELECT name FROM policy").fetchone()[0])

    def budget_policy(self) -> BudgetPolicy:
        """The caps that were fixed when the ledger was initialised."""
        caps = self.db.execute("SELECT currency, cap_minor FROM currency_caps ORDER BY currency").fetchall()
        return BudgetPolicy(
            self.db.execute("SELECT max_effects FROM policy").fetchone()[0], tuple(map(tuple, caps))
        )

    def consumption(self) -> tuple[int, dict[str, int]]:
        """Committed effects, and committed minor units by currency.  Computed; no counter is stored."""
        by_currency = self.db.execute(
            "SELECT currency, count(*) effects, sum(amount_minor) minor FROM effects GROUP BY currency"
        ).fetchall()
        return sum(row["effects"] for row in by_currency), {
            row["currency"]: row["minor"] for row in by_currency
        }


def receipt_of_row(ledger_name: str, row: dict[str, Any]) -> Receipt:
    """The receipt that an `effects` row of a snapshot claims, with the digest stored in it."""
    names = RECEIPT_COLUMNS.split(", ")
    return Receipt(ledger=ledger_name, **{name: row[name] for name in names}, digest=row["receipt_digest"])
