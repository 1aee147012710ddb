"""What SQLite's error codes mean for the caller: labkit's errors, naming the file and the cure."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labkit.errors import BadStore, LabError, ReadOnly, StoreLocked, StoreUnwritable

LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")
DISK = ("SQLITE_FULL", "SQLITE_IOERR")
PERMISSION = ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")
DAMAGE = ("SQLITE_NOTADB", "SQLITE_CORRUPT")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn sqlite3's errors into labkit's, naming the file; a mistake in a statement passes as it is."""
    try:
        yield
    except sqlite3.Error as error:
        lab_error = lab_error_of(error, path)
        if lab_error is None:
            raise
        raise lab_error from error


def lab_error_of(error: sqlite3.Error, path: Path) -> LabError | None:
    """The condition behind an error, None where it is a bug of ours (a constraint, a misspelt column)."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(LOCKED):
        return StoreLocked(
            f"{path} is locked by another process", "wait for it to finish, then run this again"
        )
    if name.startswith(DISK):
        return StoreUnwritable(
            f"{path} could not be written ({error})", "free disk space, then run this again"
        )
    if name.startswith(PERMISSION):
        return read_only(path)
    if name.startswith("SQLITE_CANTOPEN"):
        if not _permitted(path):
            return read_only(path)
        return StoreUnwritable(f"{path} could not be opened ({error})", "check the disk and open files")
    if name.startswith(DAMAGE):
        return BadStore(
            f"{path} is damaged or not a store ({error})", "keep it as evidence and restore a copy"
        )
    return None


def read_only(path: Path) -> ReadOnly:
    """The error of a file or folder that this user may not write."""
    return ReadOnly(f"{path} or its folder is read-only for you", "change its permissions, or work on a copy")


def _permitted(path: Path) -> bool:
    """Whether this user may write the file, where there is one, and its folder (for SQLite's journal)."""
    both = os.R_OK | os.W_OK
    return os.access(path.parent, both | os.X_OK) and (not path.exists() or os.access(path, both))
