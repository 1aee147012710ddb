"""What a ledger says: effects and their receipts, the highest epochs, what the budget has left."""

from __future__ import annotations

from typing import Any

from labkit.stores import sqlite
from labkit.values import BudgetPolicy, Reading, Receipt

RECEIPT_COLUMNS = (
    "effect_id, operation_id, action_digest, kind, subject, amount_minor, currency, epoch, committed_at_ms"
)


class LedgerRows:
    """The reading half of a ledger over one open connection."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db
        self.path = db.path

    def read(self, operation_id: str, now_ms: int) -> Reading:
        """What this ledger knows of an operation: `committed` with its receipt, or `absent`.

        It is `unknown` where the operation is known and its effect's row is gone.
        """
        key = self.db.execute("SELECT effect_id FROM keys WHERE operation_id = ?", (operation_id,)).fetchone()
        if key is None:
            return Reading("absent", None, self.name, now_ms)
        receipt = self.receipt(key["effect_id"])
        return Reading("committed" if receipt else "unknown", receipt, self.name, now_ms)

    def receipt(self, effect_id: int) -> Receipt | None:
        """The receipt of one effect as its row states it; `is_intact` tells whether the row was changed."""
        found = sqlite.rows(self.db, "SELECT * FROM effects WHERE effect_id = ?", effect_id)
        return receipt_of_row(self.name, found[0]) if found else None

    def effects_of(self, subject: str, kind: str) -> list[Receipt]:
        """All effects of one kind for one subject: the business fact, independent of any key."""
        found = sqlite.rows(
            self.db, "SELECT * FROM effects WHERE subject = ? AND kind = ? ORDER BY effect_id", subject, kind
        )
        return [receipt_of_row(self.name, row) for row in found]

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
