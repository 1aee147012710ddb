"""What in a set of rows cannot be true: they were changed by other means than labkit's, or lost."""

from __future__ import annotations

import hashlib

from labkit import canonical
from labkit.observations import Row, Snapshot, Tables
from labkit.stores import chain
from labkit.stores.ledger import receipt_of_row


def first_damage(rows: Snapshot) -> str | None:
    """The first damage of any store, in a sentence that names the row; None where all is sound."""
    for store, tables in rows.items():
        if [row["integrity_check"] for row in tables["integrity"]] != ["ok"]:
            return f"{store}: the integrity check says: {tables['integrity'][0]['integrity_check']}"
        if "effects" in tables and (found := _ledger_damage(store, tables)):
            return found
    return _journal_damage(rows["journal"])


def _journal_damage(tables: Tables) -> str | None:
    broken = chain.first_break_of(tables)
    if broken is not None:
        return f"journal: the event chain breaks at event {broken}"
    for row in tables["recovery_receipts"]:
        if hashlib.sha256(row["receipt"].encode()).hexdigest() != row["digest"]:
            return f"journal: recovery receipt {row['recovery_id']} does not fit its digest"
    return None


def _ledger_damage(store: str, tables: Tables) -> str | None:
    if len(tables["policy"]) != 1:
        return f"{store}: the policy row is gone"
    for row in tables["effects"]:
        if not _fits(row, tables["policy"][0]["name"]):
            return f"{store}: effect {row['effect_id']} does not fit the digests of its receipt and action"
    return None


def _fits(effect: Row, ledger_name: str) -> bool:
    """Whether the row still spells the action and the receipt that it was committed with."""
    action = {name: effect[name] for name in ("kind", "subject", "amount_minor", "currency")}
    try:
        action["details"] = chain.json_of(effect["details"])
        intact = receipt_of_row(ledger_name, effect).is_intact
        return intact and canonical.digest(action) == effect["action_digest"]
    except ValueError:  # not JSON, or a number that JSON cannot carry exactly
        return False
