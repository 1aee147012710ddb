"""Every row of every store of a world, read from copies, so that looking changes nothing."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from labkit.harness.specs import AUTHORITY_FILE, describe
from labkit.observations import Snapshot, Tables
from labkit.stores import sqlite
from labkit.stores.authority import SCHEMA as AUTHORITY_SCHEMA
from labkit.stores.journal import SCHEMA as JOURNAL_SCHEMA
from labkit.stores.ledger import SCHEMA as LEDGER_SCHEMA

SCHEMAS = {"journal": JOURNAL_SCHEMA, "ledger": LEDGER_SCHEMA, "authority": AUTHORITY_SCHEMA}


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One store of a world: the name it has in a snapshot, and its file."""

    name: str
    path: Path
    schema: sqlite.Schema = field(repr=False)


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
    rows: Snapshot = {}
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".snapshot-") as copy:
        for store in store_files(folder):
            for name in (store.path.name, store.path.name + "-journal", store.path.name + "-wal"):
                if (source := store.path.with_name(name)).exists():
                    shutil.copyfile(source, Path(copy) / name)
            rows[store.name] = read_tables(Path(copy) / store.path.name, store.schema)
    return rows


def read_tables(path: Path, schema: sqlite.Schema) -> Tables:
    """All tables of one store, rows in rowid order, plus SQLite's own integrity check."""
    db = sqlite.open_store(path, schema)
    try:
        with sqlite.translated(path):
            names = [row["name"] for row in sqlite.rows(
                db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )]  # fmt: skip
            tables = {name: sqlite.rows(db, f"SELECT * FROM {name} ORDER BY rowid") for name in names}
            tables["integrity"] = sqlite.rows(db, "SELECT integrity_check FROM pragma_integrity_check")
            return tables
    finally:
        db.close()
