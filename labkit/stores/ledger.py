"""The provider's store: effects, idempotency keys, mandates, epochs and the budget.

Only this file knows whether an effect happened.  No method commits: the provider writes inside
`with atomic(ledger.db):`, so that the whole decision of `submit` stands or falls as one.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from labkit import canonical
from labkit.errors import AmbiguousOutcome, UnknownName
from labkit.stores import capacity, sqlite
from labkit.stores.ledger_rows import LedgerRows
from labkit.stores.ledger_rows import receipt_of_row as receipt_of_row
from labkit.values import (
    Action,
    BudgetPolicy,
    Mandate,
    Receipt,
    SubmitResult,
    SubmitStatus,
    receipt_digest,
)

SCHEMA = sqlite.Schema("ledger", 0x4C4B4C31, 1, sqlite.load_sql("ledger.sql"))


class Ledger(LedgerRows):
    """The ledger's tables over one open connection."""

    @classmethod
    def create(
        cls,
        path: Path,
        name: str = "payments",
        mandate_required: bool = True,
        budget: BudgetPolicy | None = None,
    ) -> Ledger:
        """A new ledger file; its budget is fixed here.  Raises: OutputInUse, ReadOnly, StoreUnwritable."""
        policy = budget or BudgetPolicy()

        def fill(db: sqlite.StoreConnection) -> None:
            db.execute(
                "INSERT INTO policy (only_row, name, mandate_required, max_effects) VALUES (1, ?, ?, ?)",
                (name, int(mandate_required), policy.max_effects),
            )
            for cap in policy.caps_minor:
                db.execute("INSERT INTO currency_caps (currency, cap_minor) VALUES (?, ?)", cap)

        return cls(sqlite.create(path, SCHEMA, fill))

    @classmethod
    def open(cls, path: Path, busy_timeout_s: float | None = None) -> Ledger:
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
        """Withdraw the subject's mandates.  What they permitted earlier stays in the ledger.

        Revoking again changes nothing.  Raises: UnknownName where the subject never had one.
        """
        changed = self.db.execute(
            "UPDATE mandates SET revoked_at_ms = coalesce(revoked_at_ms, ?) WHERE subject = ?",
            (now_ms, subject),
        )
        if changed.rowcount == 0:
            raise UnknownName(f"{subject} has no mandate in {self.path}", "grant one first")

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
        The epoch is learnt from every submit, also from one that is refused.

        Raises:
            AmbiguousOutcome: the operation is known, and its effect's row is gone.
        """
        result = self._replay(operation_id, action)
        highest = self.fence(action.subject, epoch)
        result = result or self._refusal(action, epoch, highest)
        if result is None:
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
        receipt = self.receipt(key["effect_id"])
        if receipt is None:
            raise AmbiguousOutcome(f"{self.path} knows {operation_id} and lacks its effect", "reconcile it")
        return SubmitResult("already_committed", receipt)

    def _refusal(self, action: Action, epoch: int, highest: int) -> SubmitResult | None:
        status: SubmitStatus | None = "stale_epoch" if epoch < highest else None
        status = status or self.mandate_refusal(action) or self._capacity_refusal(action)
        return SubmitResult(status) if status else None

    def mandate_refusal(self, action: Action) -> SubmitStatus | None:
        """Why the subject's latest mandate does not permit this action, None where it does."""
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
        policy = self.budget_policy()
        return capacity.refusal(policy, *self.consumption(), action) if policy.is_capped else None

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
        receipt = receipt_of_row(self.name, {**row, "effect_id": effect_id})
        receipt = replace(receipt, digest=receipt_digest(asdict(receipt)))
        self.db.execute(
            "UPDATE effects SET receipt_digest = ? WHERE effect_id = ?", (receipt.digest, effect_id)
        )
        if operation_id is not None:
            self.db.execute("INSERT INTO keys VALUES (?, ?, ?)", (operation_id, action.digest, effect_id))
        return receipt
