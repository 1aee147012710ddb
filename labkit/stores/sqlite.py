"""One SQLite file an owner: opened safely, written in one visible transaction, never recreated.

`with atomic(db):` is the only way labkit writes.  It is BEGIN IMMEDIATE ... COMMIT: the write lock
is taken before the first read, so that what was read is still true when it is acted on.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from labkit.errors import BadStore, InfrastructureError, LabError, OutputInUse, StoreUnwritable
from labkit.stores.engine import SIDE_FILES, require_engine
from labkit.stores.engine import safe_journal_mode as safe_journal_mode
from labkit.stores.schema import Schema as Schema
from labkit.stores.schema import load_sql as load_sql
from labkit.stores.schema import split_statements as split_statements
from labkit.stores.sqlite_errors import lab_error_of as lab_error_of
from labkit.stores.sqlite_errors import read_only
from labkit.stores.sqlite_errors import translated as translated

BUSY_TIMEOUT_S = 5.0


class StoreConnection(sqlite3.Connection):
    """A connection that knows its file and its process, and raises labkit's errors."""

    path: Path = Path()
    pid: int = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """As in sqlite3.

        Raises:
            StoreLocked, StoreUnwritable, ReadOnly, BadStore: conditions of the file.
            InfrastructureError: this process inherited the connection over a fork.
        """
        if os.getpid() != self.pid:
            raise InfrastructureError(
                f"{self.path} was opened in another process", "open it in the process that uses it"
            )
        try:
            return super().execute(sql, parameters)
        except sqlite3.Error as error:
            lab_error = lab_error_of(error, self.path)
            if lab_error is None:
                raise
            raise lab_error from error


def create(
    path: Path, schema: Schema, fill: Callable[[StoreConnection], None] | None = None
) -> StoreConnection:
    """Make a new store file and return its connection; `fill` writes its first rows in the same commit.

    Raises:
        OutputInUse: the file exists; evidence is never overwritten.
        ReadOnly: the folder may not be written.
        StoreUnwritable: there is no such folder, or no space.
    """
    require_engine()
    try:
        path.open("xb").close()  # exclusive: two makers of one file cannot both go on
    except FileExistsError:
        raise OutputInUse(f"{path} exists already", "choose a new folder") from None
    except PermissionError:
        raise read_only(path) from None
    except OSError as error:
        raise StoreUnwritable(f"{path} cannot be made ({error.strerror})", "check its folder") from None
    try:
        return _fill_new(path, schema, fill)
    except BaseException:
        for suffix in ("", *SIDE_FILES):  # it is ours and holds nothing yet
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        raise


def _fill_new(path: Path, schema: Schema, fill: Callable[[StoreConnection], None] | None) -> StoreConnection:
    db = _connect(path, BUSY_TIMEOUT_S)
    try:
        db.execute(f"PRAGMA journal_mode={safe_journal_mode()}")
        with atomic(db):
            for statement in split_statements(schema.sql):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={schema.application_id}")
            db.execute(f"PRAGMA user_version={schema.version}")
            if fill is not None:
                fill(db)
    except BaseException:
        db.close()
        raise
    return db


def open_store(path: Path, schema: Schema, busy_timeout_s: float | None = None) -> StoreConnection:
    """Open an existing store, migrating it forward if it is of an older version.

    The file is not read by Python first: closing it would drop the locks that this process holds on
    it through another connection (https://www.sqlite.org/howtocorrupt.html section 2.2).

    Raises:
        BadStore: missing, empty, truncated, not a database, or of another owner or version.
        ReadOnly: the file may not be read, or needs a write and may not be written.
        StoreLocked: another process held it for longer than `busy_timeout_s` (None: BUSY_TIMEOUT_S).
    """
    require_engine()
    try:
        if not path.is_file():
            raise BadStore(f"{path} is missing", "name the folder that holds the store")
        if path.stat().st_size == 0:
            raise BadStore(f"{path} is empty", "keep it as evidence and restore a copy")
    except PermissionError:
        raise read_only(path) from None
    db = _connect(path, BUSY_TIMEOUT_S if busy_timeout_s is None else busy_timeout_s)
    try:
        _require_whole(db)
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
        StoreUnwritable: disk full, or an error of the disk.
        ReadOnly: the file may not be written.
        BadStore: the file is damaged.
    """
    with translated(getattr(db, "path", Path("store"))):
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                with suppress(sqlite3.Error, LabError):  # the first error is the one to report
                    db.execute("ROLLBACK")
            raise


def _connect(path: Path, busy_timeout_s: float) -> StoreConnection:
    with translated(path):
        # isolation_level=None: Python opens no transaction behind the reader's back.
        db = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, factory=StoreConnection)
    db.path, db.pid = path, os.getpid()
    db.row_factory = sqlite3.Row
    try:
        db.execute("PRAGMA foreign_keys=ON")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA recursive_triggers=ON")  # else INSERT OR REPLACE deletes unseen by triggers
    except BaseException:
        db.close()
        raise
    return db


def _require_whole(db: StoreConnection) -> None:
    """SQLite notices a lost page but not a lost part of the last one."""
    if db.path.with_name(db.path.name + "-wal").exists():
        return  # the newest pages lie there
    page_count, page_bytes = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
    )
    if db.path.stat().st_size < page_count * page_bytes:  # a writer meanwhile can only have made it longer
        raise BadStore(f"{db.path} is truncated", "keep it as evidence and restore a copy")


def _require_schema(db: StoreConnection, schema: Schema) -> None:
    application_id = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application_id != schema.application_id or version < 1:
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
            db.execute(f"PRAGMA user_version={max(version, schema.version)}")


def rows(db: sqlite3.Connection, sql: str, *values: Any) -> list[dict[str, Any]]:
    """All rows of a query as plain dicts, in the query's order."""
    return [dict(row) for row in db.execute(sql, values)]
