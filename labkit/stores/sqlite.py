"""One SQLite file an owner: opened safely, written in one visible transaction, never recreated.

`with atomic(db):` is the only way labkit writes.  It is BEGIN IMMEDIATE ... COMMIT: the write lock
is taken before the first read, so that what was read is still true when it is acted on.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from labkit.errors import BadStore, LabError, OutputInUse, StoreLocked, StoreUnwritable

BUSY_TIMEOUT_S = 5.0
OLDEST_SQLITE = (3, 37, 0)  # STRICT tables


@dataclass(frozen=True, slots=True)
class Schema:
    """Who owns a file, and which tables it has.  `migrations[n]` brings version n+1 to n+2."""

    owner: str
    application_id: int
    version: int
    sql: str
    migrations: tuple[str, ...] = ()


class StoreConnection(sqlite3.Connection):
    """A connection that knows its file, so that errors can name it."""

    path: Path = Path()


def load_sql(name: str) -> str:
    """The text of a schema file that lies beside the stores' modules."""
    return resources.files("labkit.stores").joinpath(name).read_text(encoding="utf-8")


def safe_journal_mode(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> str:
    """`wal` where this SQLite cannot corrupt a file by resetting its WAL, else `delete`.

    SQLite 3.7.0 to 3.51.2 can lose committed pages when two connections write and checkpoint at
    once; the lines 3.44 and 3.50 were mended in 3.44.6 and 3.50.7.  Source: the WAL-reset fault in
    https://www.sqlite.org/wal.html

    >>> safe_journal_mode((3, 40, 1)), safe_journal_mode((3, 44, 6)), safe_journal_mode((3, 51, 3))
    ('delete', 'wal', 'wal')
    """
    mended_line = {(3, 44): 6, (3, 50): 7}.get(version[:2])
    mended = version >= (3, 51, 3) or (mended_line is not None and version[2] >= mended_line)
    return "wal" if mended else "delete"


def create(path: Path, schema: Schema) -> StoreConnection:
    """Make a new store file and return its connection.

    Raises:
        OutputInUse: the file exists; evidence is never overwritten.
        StoreUnwritable: the folder cannot be written.
    """
    if path.exists():
        raise OutputInUse(f"{path} exists already", "choose a new folder")
    with translated(path):
        db = _connect(path, BUSY_TIMEOUT_S)
        db.execute(f"PRAGMA journal_mode={safe_journal_mode()}")
        with atomic(db):
            for statement in split_statements(schema.sql):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={schema.application_id}")
            db.execute(f"PRAGMA user_version={schema.version}")
    return db


def open_store(path: Path, schema: Schema, busy_timeout_s: float = BUSY_TIMEOUT_S) -> StoreConnection:
    """Open an existing store, migrating it forward if it is of an older version.

    Raises:
        BadStore: missing, empty, truncated, not a database, or of another owner or version.
        StoreLocked: another process held it for longer than `busy_timeout_s`.
    """
    _refuse_damaged(path)
    with translated(path):
        db = _connect(path, busy_timeout_s)
        try:
            _require_schema(db, schema)
        except BaseException:
            db.close()
            raise
    return db


@contextmanager
def atomic(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One transaction: all of the block, or nothing of it, also when the block is interrupted.

    Raises:
        StoreLocked: another process held the write lock for longer than the busy timeout.
        StoreUnwritable: disk full, or the file cannot be written.
        BadStore: the file is damaged.
    """
    with translated(getattr(db, "path", Path("store"))):
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                with suppress(sqlite3.Error):  # the first error is the one to report
                    db.execute("ROLLBACK")
            raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn sqlite3's errors into labkit's, naming the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise _as_lab_error(error, path) from error


def _as_lab_error(error: sqlite3.Error, path: Path) -> LabError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLocked(
            f"{path} is locked by another process", "wait for it to finish, then run this again"
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StoreUnwritable(
            f"{path} could not be written ({error})", "free disk space, then run this again"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StoreUnwritable(
            f"{path} could not be opened for writing ({error})", "check the file's permissions"
        )
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return BadStore(
            f"{path} is damaged or not a store ({error})", "keep it as evidence and restore a copy"
        )
    raise error  # a mistake in a statement is a bug, not a condition to report


def _connect(path: Path, busy_timeout_s: float) -> StoreConnection:
    # isolation_level=None: Python opens no transaction behind the reader's back.
    db = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, factory=StoreConnection)
    db.path = path
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys=ON")
    db.execute("PRAGMA synchronous=FULL")
    return db


def _refuse_damaged(path: Path) -> None:
    """Refuse what SQLite would silently take for a new database, or notice only much later."""
    if not path.is_file():
        raise BadStore(f"{path} is missing", "name the folder that holds the store")
    size_bytes = path.stat().st_size
    if _has_hot_journal(path):
        return  # SQLite rolls it back first; only then do the header and the size agree
    if size_bytes == 0:
        raise BadStore(f"{path} is empty", "keep it as evidence and restore a copy")
    try:
        header = path.open("rb").read(100)
    except PermissionError:
        raise StoreUnwritable(f"{path} cannot be read", "check the file's permissions") from None
    if len(header) < 100 or not header.startswith(b"SQLite format 3\x00"):
        raise BadStore(f"{path} is not a SQLite database", "name a file that labkit made")
    # Header layout: https://www.sqlite.org/fileformat2.html#the_database_header
    page_bytes = struct.unpack(">H", header[16:18])[0]
    pages = struct.unpack(">I", header[28:32])[0]
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    page_count_is_valid = header[24:28] == header[92:96]
    if page_count_is_valid and size_bytes < pages * page_bytes:
        raise BadStore(f"{path} is truncated", "keep it as evidence and restore a copy")


def _has_hot_journal(path: Path) -> bool:
    return any(path.with_name(path.name + suffix).exists() for suffix in ("-journal", "-wal"))


def _require_schema(db: StoreConnection, schema: Schema) -> None:
    application_id = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application_id != schema.application_id:
        raise BadStore(f"{db.path} is not a {schema.owner} store", f"name the {schema.owner}'s file")
    if version > schema.version:
        raise BadStore(
            f"{db.path} has schema version {version}, newer than {schema.version}", "update labkit"
        )
    if version < schema.version:
        with atomic(db):
            version = db.execute("PRAGMA user_version").fetchone()[0]  # another opener may have migrated it
            for statements in schema.migrations[version - 1 :]:
                for statement in split_statements(statements):
                    db.execute(statement)
            db.execute(f"PRAGMA user_version={schema.version}")


def split_statements(sql: str) -> list[str]:
    """Single statements of a script.  `executescript` would commit the open transaction."""
    statements: list[str] = []
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    return statements


def rows(db: sqlite3.Connection, sql: str, *values: Any) -> list[dict[str, Any]]:
    """All rows of a query as plain dicts, in the query's order."""
    return [dict(row) for row in db.execute(sql, values)]
