"""A table of the learner's journal that only grows: each row's digest covers the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit import canonical
from labkit.errors import BadStore
from labkit.stores import sqlite

FIRST = "0" * 64


@dataclass(frozen=True, slots=True)
class Chained:
    """One such table.  `key` is its primary key, counted from 1; `noun` names a row for people."""

    table: str
    key: str
    noun: str

    def append(self, db: sqlite.StoreConnection, content: Mapping[str, Any]) -> dict[str, Any]:
        """Add one row after the last one, in a transaction of its own, and return it whole.

        Raises:
            StoreLocked, StoreUnwritable: nothing was added.
        """
        with sqlite.atomic(db):
            last = db.execute(
                f"SELECT {self.key}, digest FROM {self.table} ORDER BY {self.key} DESC LIMIT 1"
            ).fetchone()
            row = {self.key: (last[self.key] if last else 0) + 1, **content}
            row["previous_digest"] = last["digest"] if last else FIRST
            row["digest"] = canonical.digest(row)
            marks = ", ".join(f":{name}" for name in row)
            db.execute(f"INSERT INTO {self.table} ({', '.join(row)}) VALUES ({marks})", row)
        return row

    def rows(self, db: sqlite.StoreConnection) -> list[dict[str, Any]]:
        """Every row, oldest first.

        Raises:
            BadStore: a row was changed, removed or put in between.
        """
        with sqlite.translated(db.path):
            found = sqlite.rows(db, f"SELECT * FROM {self.table} ORDER BY {self.key}")
        previous = FIRST
        for number, row in enumerate(found, 1):
            content = {name: value for name, value in row.items() if name != "digest"}
            linked = row[self.key] == number and row["previous_digest"] == previous
            if not linked or canonical.digest(content) != row["digest"]:
                raise BadStore(
                    f"{db.path.name}: the chain breaks at {self.noun} {number}",
                    "keep the file as evidence and move it away",
                )
            previous = row["digest"]
        return found
