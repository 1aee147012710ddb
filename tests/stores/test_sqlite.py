"""One file an owner: written in one visible transaction, never recreated, never taken for what it is not."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.errors import (
    BadStore,
    OutputInUse,
    StoreUnwritable,
)
from labkit.stores import sqlite
from labkit.stores.sqlite import atomic, create, open_store

ROOT = Path(__file__).parents[2]
Notes = Callable[[Path], list[str]]
Start = Callable[..., subprocess.Popen[str]]


def everything(folder: Path) -> dict[str, bytes]:
    """The bytes of every file in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class Interrupted(BaseException):
    """Neither an Exception nor anything that SQLite knows."""


@pytest.mark.parametrize("raised", [Interrupted, KeyboardInterrupt, SystemExit, ValueError, GeneratorExit])
def test_atomic_undoes_everything_whatever_interrupts_it(
    store: Path, schema: sqlite.Schema, raised: type[BaseException]
) -> None:
    """All of the block or nothing of it, also for Ctrl-C."""

    db = open_store(store, schema)
    with pytest.raises(raised), atomic(db):
        raise raised(str(db.execute("INSERT INTO notes VALUES ('half')").rowcount))
    still_open, found = db.in_transaction, [row[0] for row in db.execute("SELECT text FROM notes")]
    db.close()

    assert (still_open, found) == (False, ["first"])


def test_atomic_commits_where_the_block_ends(store: Path, schema: sqlite.Schema) -> None:
    """Another connection sees nothing before and all of it after."""

    db, other = open_store(store, schema), open_store(store, schema)
    with atomic(db):
        db.execute("INSERT INTO notes VALUES ('second')")
        before = other.execute("SELECT count(*) FROM notes").fetchone()[0]
    after = other.execute("SELECT count(*) FROM notes").fetchone()[0]
    db.close()
    other.close()

    assert (before, after) == (1, 2)


def test_a_rollback_that_fails_does_not_mask_the_first_error(store: Path, schema: sqlite.Schema) -> None:
    """What is reported is what went wrong, not what went wrong while tidying up."""

    db = open_store(store, schema)
    db.set_authorizer(lambda action, name, *_: deny_rollback(action, name))
    with pytest.raises(ZeroDivisionError), atomic(db):
        raise ZeroDivisionError
    assert db.in_transaction  # so the rollback was indeed refused
    db.close()


def deny_rollback(action: int, name: str | None) -> int:
    """An authorizer that refuses ROLLBACK and nothing else."""
    return (
        sqlite3.SQLITE_DENY
        if (action, name) == (sqlite3.SQLITE_TRANSACTION, "ROLLBACK")
        else sqlite3.SQLITE_OK
    )


def test_a_mistake_in_a_statement_passes_as_it_is(store: Path, schema: sqlite.Schema) -> None:
    """A misspelt column is a bug of ours; dressing it up as a condition would hide it."""

    db = open_store(store, schema)
    with pytest.raises(sqlite3.OperationalError, match="no such column"), atomic(db):
        db.execute("SELECT txet FROM notes")
    with pytest.raises(sqlite3.IntegrityError), atomic(db):
        db.execute("INSERT INTO notes VALUES (NULL)")
    db.close()


def test_a_transaction_inside_another_is_refused_and_undoes_nothing_quietly(
    notes: Notes, store: Path, schema: sqlite.Schema
) -> None:
    """There is one commit, where the reader sees it: nesting is an error and the outer block is undone."""

    db = open_store(store, schema)
    with pytest.raises(sqlite3.OperationalError, match="within a transaction"), atomic(db), atomic(db):
        pytest.fail("the inner block must not run")
    with pytest.raises(sqlite3.OperationalError), atomic(db):
        atomic(db.execute("INSERT INTO notes VALUES ('outer')").connection).__enter__()
    db.close()

    assert notes(store) == ["first"]


def test_executescript_is_never_used() -> None:
    """It commits the open transaction before it begins."""

    used = [
        path for path in ROOT.glob("labkit/**/*.py") if ".executescript(" in path.read_text(encoding="utf-8")
    ]

    assert used == []
    assert list(ROOT.glob("labkit/**/*.py"))


SETTINGS = {"synchronous": 2, "foreign_keys": 1, "recursive_triggers": 1}


def test_every_store_syncs_fully_and_keeps_keys_and_triggers(store: Path, schema: sqlite.Schema) -> None:
    """Settings of a connection, not of a file: so they are made each time.

    Without recursive triggers INSERT OR REPLACE would take an append-only row away unseen.
    """

    for db in (open_store(store, schema), create(store.with_name("new.sqlite3"), schema)):
        settings = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in SETTINGS]
        db.close()
        assert list(SETTINGS.values()) == settings


def test_a_read_then_write_of_two_connections_never_fails_as_busy_at_once(
    notes: Notes, store: Path, schema: sqlite.Schema, start: Start
) -> None:
    """A DEFERRED transaction that upgrades is refused whatever the timeout; BEGIN IMMEDIATE waits its turn."""

    child = start(WAITS_THEN_COMMITS, store)
    db = open_store(store, schema)
    with atomic(db):
        count = db.execute("SELECT count(*) FROM notes").fetchone()[0]
        db.execute("INSERT INTO notes VALUES (?)", (f"after {count}",))
    db.close()
    ended = child.wait(10)

    assert (ended, notes(store)) == (0, ["first", "the child's", "after 2"])


WAITS_THEN_COMMITS = """
import threading
db = sqlite.open_store(path, schema)
with sqlite.atomic(db):
    db.execute("INSERT INTO notes VALUES ('the child''s')")
    print("READY", flush=True)
    threading.Event().wait(0.3)  # so that the parent does meet the lock; no result depends on how long
"""


# --- files that are no store ----------------------------------------------------------------


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("# Notes\n" * 400, encoding="utf-8")


def one_byte(path: Path) -> None:
    path.write_bytes(b"S")


def only_the_magic(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00")


def cut_to_a_page(path: Path) -> None:
    os.truncate(path, 4096)


def cut_inside_a_page(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def cut_inside_the_first_page(path: Path) -> None:
    os.truncate(path, 2000)


def of_another_owner(path: Path) -> None:
    path.unlink()
    create(path, sqlite.Schema("diary", 1, 1, "CREATE TABLE notes (text TEXT) STRICT;")).close()


def of_no_owner(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE notes (text TEXT NOT NULL)")
    db.commit()
    db.close()


def of_a_newer_schema(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=2")
    db.close()


def of_version_zero(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=0")
    db.close()


def scribbled_over(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)


DAMAGE = {
    empty: "is empty", text: "is damaged or not a store", one_byte: "is not a notebook store",
    only_the_magic: "is damaged or not a store", cut_to_a_page: "is damaged or not a store",
    cut_inside_a_page: "is truncated", cut_inside_the_first_page: "is damaged or not a store",
    of_another_owner: "is not a notebook store", of_no_owner: "is not a notebook store",
    of_a_newer_schema: "has schema version 2, newer than 1", of_version_zero: "is not a notebook store",
    scribbled_over: "is damaged or not a store",
}  # fmt: skip


@pytest.mark.parametrize(("damage", "says"), DAMAGE.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_file_that_is_no_store_is_named_and_left_as_it_is(
    store: Path, schema: sqlite.Schema, damage: Callable[[Path], None], says: str
) -> None:
    """One line with the file and the cure, exit 2, and not a byte of the evidence changed."""

    damage(store)
    before = everything(store.parent)

    with pytest.raises(BadStore) as raised:
        open_store(store, schema)
    assert str(raised.value).startswith(f"{store} {says}")
    assert (raised.value.exit_code, raised.value.effect, bool(raised.value.cure)) == (2, "no", True)
    assert before == everything(store.parent)


@pytest.mark.parametrize("make", [lambda _: None, lambda path: path.mkdir()], ids=["nothing", "a folder"])
def test_a_missing_store_is_not_created(
    tmp_path: Path, schema: sqlite.Schema, make: Callable[[Path], None]
) -> None:
    """SQLite would make a new one and call it empty; that would be evidence of nothing."""

    path = tmp_path / "notes.sqlite3"
    make(path)
    before = path.exists()

    with pytest.raises(BadStore, match=r"notes.sqlite3 is missing: name the folder"):
        open_store(path, schema)
    assert before == path.exists()


def test_a_store_is_never_made_over_another(store: Path, schema: sqlite.Schema) -> None:
    """Also not over an empty file: somebody may look for what it held."""

    before = everything(store.parent)
    with pytest.raises(OutputInUse, match="exists already"):
        create(store, schema)
    assert before == everything(store.parent)

    empty(store)
    with pytest.raises(OutputInUse):
        create(store, schema)
    assert store.read_bytes() == b""


def test_a_store_that_could_not_be_filled_leaves_nothing(
    notes: Notes, tmp_path: Path, schema: sqlite.Schema
) -> None:
    """Half a store would be taken for one, and would stand in the way of the next attempt."""

    path = tmp_path / "notes.sqlite3"
    with pytest.raises(sqlite3.IntegrityError):
        create(path, schema, lambda db: db.execute("INSERT INTO notes VALUES (NULL)") and None)
    left = list(tmp_path.iterdir())
    create(path, schema).close()

    assert left == []
    assert notes(path) == []


def test_a_missing_folder_is_said(tmp_path: Path, schema: sqlite.Schema) -> None:
    """Nothing is created on the way."""

    with pytest.raises(StoreUnwritable, match=r"cannot be made \(No such file or directory\)"):
        create(tmp_path / "no" / "notes.sqlite3", schema)
    assert list(tmp_path.iterdir()) == []
