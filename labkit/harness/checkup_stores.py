"""The stores in a folder: whose they are, whether they are whole, and whether their digests hold.

No `world.json` is needed: a store says in its header whose it is.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

from labkit import canonical
from labkit.errors import BadStore, LabError, StoreLocked, UnknownName
from labkit.harness.checkup import Finding
from labkit.harness.snapshots import SCHEMAS, read_tables
from labkit.harness.worlds import scratch_folder
from labkit.observations import Tables
from labkit.stores import chain, engine, sqlite
from labkit.stores.ledger import receipt_of_row

SUFFIXES = (".sqlite3", ".sqlite", ".db")
OWNERS = {schema.application_id: name for name, schema in SCHEMAS.items()}
COPY_TRIES = 5
BROKEN = 1  # the exit code where a store opens and its content does not hold


def stores_in(folder: Path) -> list[Path]:
    """The files of a folder that are, or by their names should be, SQLite databases.

    Raises:
        UnknownName: no such folder, or no store in it.
    """
    if not folder.is_dir():
        raise UnknownName(f"{folder} is not a folder", "name one that holds stores")
    found = [
        path for path in sorted(folder.iterdir())
        if path.is_file() and (path.suffix in SUFFIXES or _head(path).startswith(engine.MAGIC))
    ]  # fmt: skip
    if not found:
        raise UnknownName(f"{folder} holds no store", "name a folder that a demo, workflow or run left")
    return found


def examine(path: Path) -> list[Finding]:
    """What one store is and whether it holds; one finding where it cannot even be opened."""
    copy = scratch_folder("lab-checkup-")
    try:
        copy_at_rest(path, copy)
        owner, schema = schema_of(copy / path.name)
        version = struct.unpack(">I", _head(path)[60:64])[0]
        tables = read_tables(copy / path.name, schema)
    except LabError as error:
        message = str(error).replace(str(copy / path.name), str(path))
        return [Finding(path.name, "fault", message, error.exit_code)]
    except PermissionError:
        return [Finding(path.name, "fault", f"{path} cannot be read: change its permissions", 2)]
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    faults = [Finding(path.name, "fault", text, BROKEN) for text in faults_of(owner, tables)]
    counted = ", ".join(f"{len(rows)} {name}" for name, rows in tables.items() if rows and name in SHOWN)
    return faults or [Finding(path.name, "ok", f"{owner}, schema version {version}; {counted or 'no rows'}")]


def copy_at_rest(path: Path, folder: Path) -> None:
    """Copy a store with its journal into a folder, all at one moment.

    Raises:
        StoreLocked: somebody wrote to it each time while it was copied.
    """
    files = [path.with_name(path.name + suffix) for suffix in ("-journal", "-wal", "")]
    for _ in range(COPY_TRIES):
        before = [_stamp(file) for file in files]
        for file in files:
            (folder / file.name).unlink(missing_ok=True)
            if file.is_file():
                shutil.copyfile(file, folder / file.name)
        if [_stamp(file) for file in files] == before:
            return
    raise StoreLocked(f"{path} is being written to", "wait for that to finish, then run this again")


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes whenever a file does; None where there is none."""
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_size, status.st_mtime_ns


SHOWN = ("workflows", "operations", "checkpoints", "events", "effects", "mandates", "approvals", "admissions")


def schema_of(path: Path) -> tuple[str, sqlite.Schema]:
    """Whose store a file is, by the application id in its header.  Raises: BadStore."""
    head = _head(path)
    if not head:
        raise BadStore(f"{path} is empty", "keep it as evidence and restore a copy")
    if len(head) < 100 or not head.startswith(engine.MAGIC):
        raise BadStore(f"{path} is not a SQLite database", "name a file that labkit made")
    owner = OWNERS.get(struct.unpack(">I", head[68:72])[0])
    if owner is None:
        raise BadStore(f"{path} is a SQLite database of another program", "name a file that labkit made")
    return owner, SCHEMAS[owner]


def _head(path: Path) -> bytes:
    """The header of a SQLite database; nothing where it may not be read.

    Source: https://www.sqlite.org/fileformat2.html#the_database_header
    """
    try:
        with path.open("rb") as file:
            return file.read(100)
    except PermissionError:
        return b""


def faults_of(owner: str, tables: Tables) -> Iterator[str]:
    """What does not hold in the content of a store, a sentence each."""
    integrity = [row["integrity_check"] for row in tables["integrity"]]
    if integrity != ["ok"]:
        yield f"SQLite's integrity check: {integrity[0]}"
    if owner == "journal":
        yield from _journal_faults(tables)
    if owner == "ledger":
        yield from _ledger_faults(tables)


def _journal_faults(tables: Tables) -> Iterator[str]:
    broken = chain.first_break_of(tables)
    if broken is not None:
        yield f"the event chain breaks at event {broken}"
    for row in tables["operations"]:
        if canonical.digest(chain.json_of(row["action"])) != row["action_digest"]:
            yield f"the action of {row['operation_id']} does not fit its digest"
    for row in tables["recovery_receipts"]:
        if canonical.digest(chain.json_of(row["receipt"])) != row["digest"]:
            yield f"recovery receipt {row['recovery_id']} does not fit its digest"


def _ledger_faults(tables: Tables) -> Iterator[str]:
    if len(tables["policy"]) != 1:
        yield f"{len(tables['policy'])} policy rows, not 1"
        return
    effects = {row["effect_id"]: row for row in tables["effects"]}
    for row in effects.values():
        if not receipt_of_row(tables["policy"][0]["name"], row).is_intact:
            yield f"the receipt of effect {row['effect_id']} does not fit its digest"
    for row in tables["keys"]:
        if row["effect_id"] not in effects:
            yield f"operation {row['operation_id']} is known, and its effect {row['effect_id']} is gone"
