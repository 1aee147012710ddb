"""Every row of every store of a world, read from copies, so that looking changes nothing."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from labkit.errors import BadStore
from labkit.harness.folders import scratch_folder
from labkit.harness.specs import AUTHORITY_FILE, describe
from labkit.observations import Row, Snapshot, Tables
from labkit.stores import sqlite
from labkit.stores.authority import SCHEMA as AUTHORITY_SCHEMA
from labkit.stores.journal import SCHEMA as JOURNAL_SCHEMA
from labkit.stores.ledger import SCHEMA as LEDGER_SCHEMA

TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
MOST_REMEMBERED = 64  # contents of stores; their rows take a few KiB each
SCHEMAS = {"journal": JOURNAL_SCHEMA, "ledger": LEDGER_SCHEMA, "authority": AUTHORITY_SCHEMA}


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One store of a world: the name it has in a snapshot, and its file."""

    name: str
    path: Path
    schema: sqlite.Schema = field(repr=False)

    @property
    def beside(self) -> list[Path]:
        """Where SQLite keeps what is not in the file yet, or must be rolled back."""
        return [self.path.with_name(f"{self.path.name}-{kind}") for kind in ("journal", "wal")]


def store_files(folder: Path) -> list[StoreFile]:
    """The world's stores: `journal`, each ledger under its own name, `authority` where there is one."""
    spec = describe(folder)
    found = [StoreFile("journal", folder / spec["journal_file"], JOURNAL_SCHEMA)]
    found += [StoreFile(ledger["name"], folder / ledger["file"], LEDGER_SCHEMA) for ledger in spec["ledgers"]]
    if spec["approvals"] is not None:
        found.append(StoreFile("authority", folder / AUTHORITY_FILE, AUTHORITY_SCHEMA))
    return found


def snapshot(folder: Path) -> Snapshot:
    """Every row of every store, read from copies, so that looking changes nothing.

    A killed writer leaves a hot journal beside the file, and SQLite must roll it back before it
    reads: so file and journal are copied together, and the copy is opened for writing.
    """
    return {store.name: _remembered(store, _read_from_copy) for store in store_files(folder)}


def rows_in_place(folder: Path) -> Snapshot:
    """Every row of every store, read where it stands: for a world that is thrown away afterwards.

    A hot journal is rolled back by it, as the next worker would; no evidence is kept of such a world.
    """
    return {store.name: _remembered(store, _read_in_place) for store in store_files(folder)}


def _remembered(store: StoreFile, read: Callable[[StoreFile], Tables]) -> Tables:
    """The tables of a store.  They follow from its bytes, and most trials of a sweep leave the same bytes.

    What a writer has left beside the file counts too: then it is read in any case.
    """
    if any(path.exists() for path in store.beside):
        return read(store)
    try:
        content = (store.path.name, hashlib.sha256(store.path.read_bytes()).digest())
    except OSError:  # missing, or not ours to read: whoever reads it says so in labkit's words
        return read(store)
    if content not in _READ:
        if len(_READ) >= MOST_REMEMBERED:
            _READ.clear()
        _READ[content] = read(store)
    return {name: [dict(row) for row in rows] for name, rows in _READ[content].items()}  # the caller's own


_READ: dict[tuple[str, bytes], Tables] = {}  # by a file's name and the digest of its content


def _read_from_copy(store: StoreFile) -> Tables:
    copy = scratch_folder("lab-snapshot-")
    try:
        for source in (store.path, *store.beside):
            if source.exists():
                shutil.copyfile(source, copy / source.name)
        return _tables_or_damage(copy / store.path.name, store.schema)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _read_in_place(store: StoreFile) -> Tables:
    return _tables_or_damage(store.path, store.schema)


def _tables_or_damage(path: Path, schema: sqlite.Schema) -> Tables:
    """The tables as they are; a store that a trial has destroyed is a finding and no failure to look."""
    none: Tables = {name: [] for name in table_names(schema)}
    try:
        tables = read_tables(path, schema)
    except (BadStore, sqlite3.Error) as error:
        found = str(error).replace(str(path), path.name)
        return {**none, "sequences": [], "integrity": [{"integrity_check": found}]}
    lost = [{"integrity_check": f"table {name} is missing"} for name in none if name not in tables]
    return {**none, **tables, "integrity": tables["integrity"] + lost}


def _sequences(db: sqlite3.Connection) -> list[Row]:
    """SQLite keeps them in a table that is there only where some table is AUTOINCREMENT."""
    if not sqlite.rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'"):
        return []
    return sqlite.rows(db, "SELECT name, seq FROM sqlite_sequence ORDER BY name")


@lru_cache
def table_names(schema: sqlite.Schema) -> tuple[str, ...]:
    """The tables that a store of this schema has."""
    db = sqlite3.connect(":memory:")
    for statement in sqlite.split_statements(schema.sql):
        db.execute(statement)
    found = tuple(row[0] for row in db.execute(TABLE_NAMES))
    db.close()
    return found


def read_tables(path: Path, schema: sqlite.Schema) -> Tables:
    """All tables of one store, rows in rowid order.

    Beside them stand `sequences`, the highest number that SQLite has given out in a table (it outlives
    the row), and `integrity`, SQLite's own check.
    """
    db = sqlite.open_store(path, schema)
    try:
        with sqlite.translated(path):
            names = [row["name"] for row in sqlite.rows(db, TABLE_NAMES)]
            tables = {name: sqlite.rows(db, f"SELECT * FROM {name} ORDER BY rowid") for name in names}
            tables["sequences"] = _sequences(db)
            tables["integrity"] = sqlite.rows(db, "SELECT integrity_check FROM pragma_integrity_check")
            return tables
    finally:
        db.close()
