"""Which SQLite this Python is linked with, which journal mode is safe on it, and what its files look like."""

from __future__ import annotations

import sqlite3

from labkit.errors import InfrastructureError

OLDEST_SQLITE = (3, 37, 0)  # STRICT tables

MAGIC = (
    b"SQLite format 3\0"  # a store's first bytes, https://www.sqlite.org/fileformat2.html#the_database_header
)
JOURNAL = "-journal"
SIDE_FILES = (JOURNAL, "-wal", "-shm")  # beside a store, after its name


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


def require_engine(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> None:
    """Refuse a SQLite that lacks STRICT tables.  Raises: InfrastructureError."""
    if version < OLDEST_SQLITE:
        have, need = (".".join(map(str, numbers)) for numbers in (version, OLDEST_SQLITE))
        raise InfrastructureError(f"Python is linked with SQLite {have}", f"use one with {need} or newer")
