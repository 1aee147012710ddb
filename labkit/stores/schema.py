"""What a store file has to be: its owner, its version, its tables, and the steps from older versions."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Schema:
    """Who owns a file, and which tables it has.  `migrations[n]` brings version n+1 to n+2."""

    owner: str
    application_id: int
    version: int
    sql: str
    migrations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert len(self.migrations) == self.version - 1, "a migration for every older version"


def load_sql(name: str) -> str:
    """The text of a schema file that lies beside the stores' modules."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def split_statements(sql: str) -> list[str]:
    """Single statements of a script.  `executescript` would commit the open transaction."""
    statements: list[str] = []
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    assert not pending.strip(), f"a statement without its semicolon: {pending.strip()}"
    return statements
