"""Which SQLite this is, and which journal mode is safe on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.errors import (
    InfrastructureError,
)
from labkit.stores import engine, sqlite
from labkit.stores.sqlite import open_store

MODES = {
    (3, 37, 0): "delete", (3, 40, 1): "delete", (3, 43, 2): "delete",
    (3, 44, 5): "delete", (3, 44, 6): "wal", (3, 44, 9): "wal", (3, 45, 0): "delete",
    (3, 50, 6): "delete", (3, 50, 7): "wal", (3, 51, 0): "delete", (3, 51, 2): "delete",
    (3, 51, 3): "wal", (3, 52, 0): "wal", (4, 0, 0): "wal",
}  # fmt: skip


@pytest.mark.parametrize(("version", "mode"), MODES.items(), ids=lambda value: str(value))
def test_wal_only_where_its_reset_cannot_corrupt(version: tuple[int, int, int], mode: str) -> None:
    """3.7.0 to 3.51.2 are at fault, but for the lines mended in 3.44.6 and 3.50.7."""

    assert mode == sqlite.safe_journal_mode(version)


def test_a_new_store_is_in_the_safe_mode_of_this_engine(store: Path, schema: sqlite.Schema) -> None:
    """What the function says is what the file has."""

    db = open_store(store, schema)
    mode = db.execute("PRAGMA journal_mode").fetchone()[0]
    db.close()

    assert sqlite.safe_journal_mode() == mode


def test_an_engine_without_strict_tables_is_named() -> None:
    """Too old a SQLite is the machine's fault: exit 3, with the version that would do."""

    with pytest.raises(InfrastructureError, match=r"SQLite 3\.36\.0: use one with 3\.37\.0 or newer"):
        engine.require_engine((3, 36, 0))
    engine.require_engine((3, 37, 0))
