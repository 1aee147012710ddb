"""What a journal says: its workflows and operations as frozen values.  Nothing here changes a row but `update`."""

from __future__ import annotations

import json
from typing import Any

from labkit.errors import UnknownName
from labkit.stores import sqlite
from labkit.values import Action, Operation, Workflow

OPERATION_SQL = """
SELECT o.*, EXISTS (SELECT 1 FROM checkpoints c WHERE c.workflow_id = o.workflow_id AND c.step = o.step) checkpointed
FROM operations o
"""


class JournalRows:
    """The reading half of a journal over one open connection."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db

    def workflow(self, workflow_id: str) -> Workflow:
        """One workflow with its operations in step order.  Raises: UnknownName."""
        row = self.db.execute("SELECT * FROM workflows WHERE workflow_id = ?", (workflow_id,)).fetchone()
        if row is None:
            raise UnknownName(f"workflow {workflow_id} is not in the journal", "create it first")
        return Workflow(
            row["workflow_id"], row["code_path"], row["version"], row["epoch"], row["owner"],
            tuple(self._operations("WHERE o.workflow_id = ? ORDER BY o.rowid", workflow_id)),
        )  # fmt: skip

    def operation(self, operation_id: str) -> Operation:
        """One operation.  Raises: UnknownName."""
        found = self._operations("WHERE o.operation_id = ?", operation_id)
        if not found:
            raise UnknownName(f"operation {operation_id} is not in the journal", "record the intent first")
        return found[0]

    def step(self, workflow_id: str, step: str) -> Operation | None:
        """The operation of one step, None where no intent was recorded."""
        found = self._operations("WHERE o.workflow_id = ? AND o.step = ?", workflow_id, step)
        return found[0] if found else None

    def events(self, workflow_id: str) -> list[dict[str, Any]]:
        """The workflow's events in the order in which they were appended."""
        return sqlite.rows(
            self.db, "SELECT * FROM events WHERE workflow_id = ? ORDER BY sequence", workflow_id
        )

    def _operations(self, where: str, *values: str) -> list[Operation]:
        return [_operation(row) for row in sqlite.rows(self.db, OPERATION_SQL + where, *values)]

    def _update(self, assignment: str, values: tuple[Any, ...], operation_id: str) -> None:
        changed = self.db.execute(
            f"UPDATE operations SET {assignment} WHERE operation_id = ?", (*values, operation_id)
        )
        if changed.rowcount != 1:
            raise UnknownName(f"operation {operation_id} is not in the journal", "record the intent first")


def _operation(row: dict[str, Any]) -> Operation:
    action = Action.from_json(json.loads(row["action"]), "journal")
    return Operation(
        **{
            **row,
            "action": action,
            "checkpointed": bool(row["checkpointed"]),
            "idempotent": bool(row["idempotent"]),
        }
    )


def new_operation(operation_id: str, workflow_id: str, step: str, action: Action, **more: Any) -> Operation:
    """An operation that nothing has happened to yet; `more` may set ledger, state, approval_id, idempotent, ..."""
    defaults: dict[str, Any] = {
        "ledger": "payments", "state": "NOT_ADMITTED", "approval_id": None, "idempotent": True, "retries": 0,
        "max_retries": 3, "checkpointed": False, "last_observed_status": None, "observed_at_ms": None, "source": None,
    }  # fmt: skip
    return Operation(
        operation_id, workflow_id, step, action=action, action_digest=action.digest, **{**defaults, **more}
    )
