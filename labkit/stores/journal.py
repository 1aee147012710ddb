"""The workflow's store: intentions, progress, epochs, append-only events, recovery receipts.

The journal is what the workflow believes.  It never knows whether an effect happened: that is the
ledger's to say.  No method commits; write inside `with atomic(journal.db):`, where you can see it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit import canonical
from labkit.errors import Conflict, StaleClaim, UnknownName
from labkit.stores import chain, sqlite
from labkit.stores.journal_rows import JournalRows
from labkit.stores.journal_rows import new_operation as new_operation
from labkit.values import AUTHORITY_REFUSALS, Action, Operation, Reading, Receipt, RecoveryReceipt

SCHEMA = sqlite.Schema("journal", 0x4C4B4A31, 1, sqlite.load_sql("journal.sql"))


class Journal(JournalRows):
    """The journal's tables over one open connection."""

    @classmethod
    def create(cls, path: Path) -> Journal:
        """A new journal file.  Raises: OutputInUse, ReadOnly, StoreUnwritable."""
        return cls(sqlite.create(path, SCHEMA))

    @classmethod
    def open(cls, path: Path, busy_timeout_s: float | None = None) -> Journal:
        """An existing journal file.  Raises: BadStore, ReadOnly, StoreLocked."""
        return cls(sqlite.open_store(path, SCHEMA, busy_timeout_s))

    # --- intentions -------------------------------------------------------------------------

    def begin(self, workflow_id: str, code_path: str, now_ms: int) -> None:
        """Record that a workflow exists.  Raises: Conflict where one of that name does already."""
        if self.db.execute("SELECT 1 FROM workflows WHERE workflow_id = ?", (workflow_id,)).fetchone():
            raise Conflict(f"workflow {workflow_id} exists already", "resume it, or choose another id")
        self.db.execute(
            "INSERT INTO workflows (workflow_id, code_path, created_at_ms) VALUES (?, ?, ?)",
            (workflow_id, code_path, now_ms),
        )
        self.append(workflow_id, "begun", {"code_path": code_path}, now_ms)

    def intend(self, operation: Operation, now_ms: int) -> None:
        """Record one operation's identity and exact action before anybody is asked to perform it.

        Raises:
            Conflict: the operation id, or the step, is bound to something already.
            UnknownName: there is no such workflow.
        """
        row = {**asdict(operation), "action": canonical.canonical_bytes(operation.action.as_json).decode()}
        row["idempotent"] = int(operation.idempotent)
        del row["checkpointed"]
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        try:
            self.db.execute(f"INSERT INTO operations ({names}) VALUES ({marks})", row)
        except sqlite3.IntegrityError:
            self.workflow(operation.workflow_id)  # to have none is the other way to fail
            raise Conflict(
                f"operation {operation.operation_id} or its step is recorded already", "read it first"
            ) from None
        body = {
            "operation_id": operation.operation_id,
            "step": operation.step,
            "digest": operation.action_digest,
        }
        self.append(operation.workflow_id, "intended", body, now_ms)

    def replace_action(self, operation_id: str, action: Action, now_ms: int) -> None:
        """Bind an operation to another action; its approval no longer fits and is dropped.

        Only an operation that nobody has admitted may change.  Raises: Conflict otherwise.
        """
        operation = self.operation(operation_id)
        changed = self.db.execute(
            "UPDATE operations SET action = ?, action_digest = ?, approval_id = NULL, state = 'NOT_ADMITTED'"
            " WHERE operation_id = ? AND state IN ('NOT_ADMITTED', 'NEEDS_REAUTHORISATION')",
            (canonical.canonical_bytes(action.as_json).decode(), action.digest, operation_id),
        )
        if changed.rowcount != 1:
            raise Conflict(
                f"operation {operation_id} is {operation.state}", "start a new workflow for another action"
            )
        body = {"operation_id": operation_id, "from": operation.action_digest, "to": action.digest}
        self.append(operation.workflow_id, "action_replaced", body, now_ms)

    def bind_approval(self, operation_id: str, approval_id: str, now_ms: int) -> None:
        """Note which approval the operation will ask to be admitted under."""
        operation = self.operation(operation_id)
        self._update("approval_id = ?", (approval_id,), operation_id)
        body = {"operation_id": operation_id, "approval_id": approval_id, "digest": operation.action_digest}
        self.append(operation.workflow_id, "approval_bound", body, now_ms)

    # --- progress ---------------------------------------------------------------------------

    def claim(self, workflow_id: str, expected_version: int, owner: str, now_ms: int, above: int = 0) -> int:
        """Take the workflow over and return its new epoch: compare-and-swap on the version.

        Every claim gets a new epoch, also one by the same owner, and one higher than `above`: what
        the provider has heard of already, from another workflow or from a journal that was lost.

        Raises:
            StaleClaim: somebody else claimed it since `expected_version` was read.
        """
        changed = self.db.execute(
            "UPDATE workflows SET version = version + 1, epoch = max(epoch, ?) + 1, owner = ?"
            " WHERE workflow_id = ? AND version = ?",
            (above, owner, workflow_id, expected_version),
        )
        if changed.rowcount != 1:
            self.workflow(workflow_id)  # to have none is the other way to fail
            raise StaleClaim(
                f"workflow {workflow_id} has moved past version {expected_version}", "read it again"
            )
        epoch = int(self.workflow(workflow_id).epoch)
        self.append(workflow_id, "claimed", {"owner": owner, "epoch": epoch}, now_ms)
        return epoch

    def require_epoch(self, workflow_id: str, epoch: int) -> None:
        """Refuse to write for a worker that has been taken over.  Raises: StaleClaim."""
        current = self.workflow(workflow_id).epoch
        if current != epoch:
            raise StaleClaim(
                f"workflow {workflow_id} is at epoch {current}, not {epoch}", "stop: another worker has it"
            )

    def move(self, operation_id: str, to_state: str, evidence: Mapping[str, Any], now_ms: int) -> None:
        """Set an operation's state and append the event that shows why.

        The caller checks the move against `protocol.states` first; a store knows no policy.
        """
        operation = self.operation(operation_id)
        self._update("state = ?", (to_state,), operation_id)
        body = {
            "operation_id": operation_id,
            "from": operation.state,
            "to": to_state,
            "evidence": dict(evidence),
        }
        self.append(operation.workflow_id, "moved", body, now_ms)

    def observe(self, operation_id: str, reading: Reading) -> None:
        """Keep what was last read of the effect: a belief, with its source and time."""
        values = (reading.status, reading.observed_at_ms, reading.source)
        self._update("last_observed_status = ?, observed_at_ms = ?, source = ?", values, operation_id)

    def checkpoint(self, operation_id: str, receipt: Receipt | None, now_ms: int) -> None:
        """Record that this step is complete.  The journal takes the caller's word for it."""
        operation = self.operation(operation_id)
        effect_id, receipt_digest = (receipt.effect_id, receipt.digest) if receipt else (None, None)
        paid_under = (receipt.operation_id if receipt else None) or operation_id
        self.db.execute(
            "INSERT INTO checkpoints (workflow_id, step, operation_id, effect_id, receipt_digest, at_ms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (operation.workflow_id, operation.step, paid_under, effect_id, receipt_digest, now_ms),
        )
        if operation.state == "EFFECT_PENDING":
            self._update("state = 'EFFECT_COMMITTED'", (), operation_id)
        body = {
            "operation_id": operation_id,
            "step": operation.step,
            "effect_id": effect_id,
            "receipt": receipt_digest,
        }
        self.append(operation.workflow_id, "checkpointed", body, now_ms)

    def refuse(self, operation_id: str, reason: str, now_ms: int) -> None:
        """Record that the owner of the effect refused it, and stop there.

        A refusal on authority waits for a fresh one; any other ends the operation.
        """
        state = "NEEDS_REAUTHORISATION" if reason in AUTHORITY_REFUSALS else "ABANDONED"
        self.move(operation_id, state, {"refused": reason}, now_ms)

    def start_attempt(self, operation_id: str, epoch: int, now_ms: int) -> int:
        """Record, before the call, that an attempt begins.  Returns its id."""
        cursor = self.db.execute(
            "INSERT INTO attempts (operation_id, epoch, started_at_ms) VALUES (?, ?, ?)",
            (operation_id, epoch, now_ms),
        )
        return int(cursor.lastrowid or 0)

    def finish_attempt(self, attempt_id: int, outcome: str) -> None:
        """Record what was heard of an attempt."""
        changed = self.db.execute(
            "UPDATE attempts SET outcome = ? WHERE attempt_id = ?", (outcome, attempt_id)
        )
        if changed.rowcount != 1:
            raise UnknownName(f"attempt {attempt_id} is not in the journal", "start it first")

    def count_retry(self, operation_id: str) -> None:
        """Consume one retry, durably."""
        self._update("retries = retries + 1", (), operation_id)

    def record_recovery(self, receipt: RecoveryReceipt, now_ms: int) -> None:
        """Keep one recovery receipt under its own digest."""
        text, digest = canonical.canonical_bytes(asdict(receipt)).decode(), canonical.digest(asdict(receipt))
        self.db.execute(
            "INSERT INTO recovery_receipts (workflow_id, version_claimed, receipt, digest, at_ms)"
            " VALUES (?, ?, ?, ?, ?)",
            (receipt.workflow_id, receipt.version_claimed, text, digest, now_ms),
        )
        event = {"decision": receipt.decision, "operation_id": receipt.operation_id, "digest": digest}
        self.append(receipt.workflow_id, "recovered", event, now_ms)

    def append(self, workflow_id: str, kind: str, body: Mapping[str, Any], now_ms: int) -> None:
        """Append one event to the hash chain."""
        chain.append(self.db, workflow_id, kind, body, now_ms)
