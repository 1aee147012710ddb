"""What a store file has to be, and how an older one becomes it."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.stores import sqlite
from labkit.stores.sqlite import open_store

Notes = Callable[[Path], list[str]]
Start = Callable[..., subprocess.Popen[str]]


SECOND = "ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody';\nCREATE INDEX by_author ON notes (author);"
THIRD = "ALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT 3;"


def newer(schema: sqlite.Schema) -> sqlite.Schema:
    """The same schema two versions later."""
    return replace(schema, version=3, migrations=(SECOND, THIRD))


def test_an_older_store_is_brought_forward_with_its_rows(store: Path, schema: sqlite.Schema) -> None:
    """Every step in order, once; then it is a store of the new version."""

    for _ in range(2):
        db = open_store(store, newer(schema))
        version = db.execute("PRAGMA user_version").fetchone()[0]
        found = sqlite.rows(db, "SELECT * FROM notes")
        db.close()
        assert (version, found) == (3, [{"text": "first", "author": "nobody", "stars": 3}])


def columns(path: Path, schema: sqlite.Schema) -> list[str]:
    """The columns of the notes."""
    db = open_store(path, schema)
    found = [row["name"] for row in db.execute("SELECT name FROM pragma_table_info('notes')")]
    db.close()
    return found


def test_a_migration_that_fails_leaves_the_old_version_whole(
    notes: Notes, store: Path, schema: sqlite.Schema
) -> None:
    """The version and the change it stands for are one commit: neither half a step nor half the steps."""

    broken = replace(schema, version=3, migrations=(SECOND, "ALTER TABLE nots ADD COLUMN stars INTEGER;"))
    with pytest.raises(sqlite3.OperationalError, match="no such table: nots"):
        open_store(store, broken)

    assert (notes(store), columns(store, schema)) == (["first"], ["text"])


def test_two_openers_migrate_once(
    store: Path, schema: sqlite.Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second had seen the old version already: it looks again under the lock and finds nothing to do."""

    slow, real_atomic = open_store(store, schema), sqlite.atomic

    def another_is_faster(db: sqlite.StoreConnection) -> AbstractContextManager[sqlite3.Connection]:
        monkeypatch.setattr(sqlite, "atomic", real_atomic)
        open_store(store, newer(schema)).close()
        return real_atomic(db)

    monkeypatch.setattr(sqlite, "atomic", another_is_faster)
    sqlite._require_schema(slow, newer(schema))
    slow.close()

    assert columns(store, newer(schema)) == ["text", "author", "stars"]


def test_a_schema_has_a_migration_for_every_older_version(schema: sqlite.Schema) -> None:
    """A forgotten one would skip a step in every user's file."""

    with pytest.raises(AssertionError, match="a migration for every older version"):
        replace(schema, version=2)


def test_a_script_is_cut_into_its_statements() -> None:
    """Triggers keep their inner semicolons, comments their text, and no statement is dropped."""

    trigger = "CREATE TRIGGER t BEFORE UPDATE ON notes\nBEGIN SELECT 1; SELECT 2; END;"

    assert ["-- a;\nSELECT 1;", trigger, "SELECT 3;"] == sqlite.split_statements(
        f"-- a;\nSELECT 1;\n{trigger}\nSELECT 3;\n"
    )
    with pytest.raises(AssertionError, match="without its semicolon"):
        sqlite.split_statements("SELECT 1;\nSELECT 2\n")
