"""One file an owner: written in one visible transaction, never recreated, every failure typed and named."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import (
    BadStore,
    InfrastructureError,
    LabError,
    OutputInUse,
    ReadOnly,
    StoreLocked,
    StoreUnwritable,
)
from labkit.stores import engine, sqlite
from labkit.stores.sqlite import atomic, create, open_store

ROOT = Path(__file__).parents[2]
Start = Callable[..., subprocess.Popen[str]]


def notes(path: Path, schema: sqlite.Schema) -> list[str]:
    """The notes in a store, in order."""
    db = open_store(path, schema)
    found = [row["text"] for row in db.execute("SELECT text FROM notes ORDER BY rowid")]
    db.close()
    return found


def everything(folder: Path) -> dict[str, bytes]:
    """The bytes of every file in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# --- one transaction ------------------------------------------------------------------------


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
    store: Path, schema: sqlite.Schema
) -> None:
    """There is one commit, where the reader sees it: nesting is an error and the outer block is undone."""

    db = open_store(store, schema)
    with pytest.raises(sqlite3.OperationalError, match="within a transaction"), atomic(db), atomic(db):
        pytest.fail("the inner block must not run")
    with pytest.raises(sqlite3.OperationalError), atomic(db):
        atomic(db.execute("INSERT INTO notes VALUES ('outer')").connection).__enter__()
    db.close()

    assert notes(store, schema) == ["first"]


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
    store: Path, schema: sqlite.Schema, start: Start
) -> None:
    """A DEFERRED transaction that upgrades is refused whatever the timeout; BEGIN IMMEDIATE waits its turn."""

    child = start(WAITS_THEN_COMMITS, store)
    db = open_store(store, schema)
    with atomic(db):
        count = db.execute("SELECT count(*) FROM notes").fetchone()[0]
        db.execute("INSERT INTO notes VALUES (?)", (f"after {count}",))
    db.close()
    ended = child.wait(10)

    assert (ended, notes(store, schema)) == (0, ["first", "the child's", "after 2"])


OPENS = """
import sys
from pathlib import Path
from labkit.stores import sqlite
schema = sqlite.Schema("notebook", 0x4E4F5445, 1, "CREATE TABLE notes (text TEXT NOT NULL) STRICT;")
path = Path(sys.argv[1])
"""
WAITS_THEN_COMMITS = (
    OPENS
    + """
import threading
db = sqlite.open_store(path, schema)
with sqlite.atomic(db):
    db.execute("INSERT INTO notes VALUES ('the child''s')")
    print("READY", flush=True)
    threading.Event().wait(0.3)  # so that the parent does meet the lock; no result depends on how long
"""
)
HOLDS = (
    OPENS
    + """
db = sqlite.open_store(path, schema)
with sqlite.atomic(db):
    db.execute("INSERT INTO notes VALUES ('never')")
    if len(sys.argv) > 2:
        db.execute("PRAGMA cache_size=1")
        db.execute("CREATE TABLE filler (bytes BLOB)")
        db.execute("INSERT INTO filler VALUES (zeroblob(400000))")  # spills into the file: the journal is hot
    print("READY", flush=True)
    sys.stdin.read()
"""
)


# --- journal modes --------------------------------------------------------------------------

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


def test_a_store_that_could_not_be_filled_leaves_nothing(tmp_path: Path, schema: sqlite.Schema) -> None:
    """Half a store would be taken for one, and would stand in the way of the next attempt."""

    path = tmp_path / "notes.sqlite3"
    with pytest.raises(sqlite3.IntegrityError):
        create(path, schema, lambda db: db.execute("INSERT INTO notes VALUES (NULL)") and None)
    left = list(tmp_path.iterdir())
    create(path, schema).close()

    assert left == []
    assert notes(path, schema) == []


def test_a_missing_folder_is_said(tmp_path: Path, schema: sqlite.Schema) -> None:
    """Nothing is created on the way."""

    with pytest.raises(StoreUnwritable, match=r"cannot be made \(No such file or directory\)"):
        create(tmp_path / "no" / "notes.sqlite3", schema)
    assert list(tmp_path.iterdir()) == []


# --- permissions ----------------------------------------------------------------------------

PLAIN_USER = """
import os, sys
from pathlib import Path
from labkit.errors import LabError
from labkit.stores import sqlite
schema = sqlite.Schema("notebook", 0x4E4F5445, 1, "CREATE TABLE notes (text TEXT NOT NULL) STRICT;")
path = Path(sys.argv[2])
if os.geteuid() == 0:  # root may write everything: become nobody
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)
try:
    db = sqlite.create(path, schema) if sys.argv[1] == "create" else sqlite.open_store(path, schema)
    print(len(db.execute("SELECT * FROM notes").fetchall()), flush=True)
    with sqlite.atomic(db):
        db.execute("INSERT INTO notes VALUES ('mine')")
except LabError as error:
    print(type(error).__name__, error.exit_code, error.effect, error)
"""


@pytest.fixture
def open_folder(schema: sqlite.Schema) -> Iterator[Path]:
    """A folder that every user may enter, with a store in it that every user may write."""
    folder = Path(tempfile.mkdtemp(prefix="lab-test-"))
    folder.chmod(0o777)
    create(folder / "notes.sqlite3", schema).close()
    (folder / "notes.sqlite3").chmod(0o666)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


def as_plain_user(*arguments: object) -> list[str]:
    """What a user without privileges is told, line by line."""
    command = [sys.executable, "-I", "-c", PLAIN_USER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_a_plain_user_may_use_what_is_open_to_all(open_folder: Path) -> None:
    """The child of the next tests does write where it may: they fail for the right reason."""

    assert as_plain_user("open", open_folder / "notes.sqlite3") == ["0"]


READ_ONLY = {"a read-only file": (0o444, 0o777, ["0"]), "an unreadable file": (0o000, 0o777, []),
             "a read-only folder": (0o666, 0o555, ["0"]), "a closed folder": (0o666, 0o000, [])}  # fmt: skip


@pytest.mark.parametrize(("file_mode", "folder_mode", "read"), READ_ONLY.values(), ids=READ_ONLY)
def test_a_store_that_may_not_be_written_is_the_users_to_mend(
    open_folder: Path, file_mode: int, folder_mode: int, read: list[str]
) -> None:
    """Exit 2, the file and the cure in one line, nothing changed; reading works where it may."""

    store = open_folder / "notes.sqlite3"
    before = everything(open_folder)
    store.chmod(file_mode)
    open_folder.chmod(folder_mode)
    said = as_plain_user("open", store)
    open_folder.chmod(0o777)
    store.chmod(0o666)

    assert [*read, f"ReadOnly 2 no {ReadOnlyLine(store)}"] == said
    assert before == everything(open_folder)


def ReadOnlyLine(path: Path) -> str:  # noqa: N802  reads as the error it spells
    """The one line for a file that may not be written."""
    error = ReadOnly(
        f"{path} or its folder is read-only for you", "change its permissions, or work on a copy"
    )
    return str(error)


def test_a_store_cannot_be_made_in_a_read_only_folder(open_folder: Path) -> None:
    """The same line, before anything is created."""

    open_folder.chmod(0o555)
    said = as_plain_user("create", open_folder / "new.sqlite3")

    assert [f"ReadOnly 2 no {ReadOnlyLine(open_folder / 'new.sqlite3')}"] == said


# --- full disks and held locks --------------------------------------------------------------

FILLS = (
    OPENS
    + """
import resource, signal
from labkit.errors import LabError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    db = sqlite.create(path, schema) if sys.argv[3] == "create" else sqlite.open_store(path, schema)
    with sqlite.atomic(db):
        for _ in range(200):
            db.execute("INSERT INTO notes VALUES (?)", ("x" * 2000,))
except LabError as error:
    print(type(error).__name__, error.exit_code, error.effect, error.message.startswith(str(path)), "free disk" in error.cure)
    print(db.in_transaction if sys.argv[3] == "open" else "")
"""
)


@pytest.mark.parametrize("limit_bytes", [16 * 1024, 40 * 1024, 100 * 1024])
def test_a_full_disk_undoes_the_whole_transaction(
    store: Path, schema: sqlite.Schema, limit_bytes: int
) -> None:
    """Exit 3: the machine failed.  The rows are those of before, and the connection holds nothing open."""

    command = [sys.executable, "-I", "-c", FILLS, str(store), str(limit_bytes), "open"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines() == ["StoreUnwritable 3 no True True", "False"]
    assert notes(store, schema) == ["first"]


def test_sqlites_own_word_for_a_full_disk_is_the_same_error(store: Path, schema: sqlite.Schema) -> None:
    """SQLITE_FULL, brought about by a limit on the file's pages, and everything of the block undone."""

    db = open_store(store, schema)
    db.execute("PRAGMA max_page_count=3")
    with (
        pytest.raises(StoreUnwritable, match=r"could not be written .*full.*: free disk space") as raised,
        atomic(db),
    ):
        db.execute("INSERT INTO notes VALUES (?)", ("x" * 20_000,))
    db.close()

    assert (raised.value.exit_code, raised.value.effect, notes(store, schema)) == (3, "no", ["first"])


def test_a_full_disk_leaves_no_half_made_store(tmp_path: Path) -> None:
    """What could not be created whole is not there."""

    command = [sys.executable, "-I", "-c", FILLS, str(tmp_path / "new.sqlite3"), "5000", "create"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines()[0] == "StoreUnwritable 3 no True True"
    assert list(tmp_path.iterdir()) == []


def test_a_lock_held_past_the_timeout_is_a_clear_error(
    store: Path, schema: sqlite.Schema, start: Start
) -> None:
    """Exit 3, nothing changed, and never a path around the lock; afterwards the same call works."""

    child = start(HOLDS, store)
    before = store.read_bytes()
    db = open_store(store, schema, busy_timeout_s=0.05)
    with pytest.raises(StoreLocked) as raised, atomic(db):
        pytest.fail("the block must not run without the lock")
    assert f"{store} is locked by another process: wait for it to finish, then run this again" == str(
        raised.value
    )
    assert (raised.value.exit_code, raised.value.effect, db.in_transaction) == (3, "no", False)
    assert before == store.read_bytes()

    child.kill()
    child.communicate()
    with atomic(db):
        db.execute("INSERT INTO notes VALUES ('second')")
    db.close()
    assert notes(store, schema) == ["first", "second"]


def test_a_reader_behind_a_lock_gets_the_same_error(store: Path, schema: sqlite.Schema, start: Start) -> None:
    """A SELECT outside a transaction is a statement like any other: typed, not sqlite3's own error."""

    db = open_store(store, schema, busy_timeout_s=0.05)
    if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        pytest.skip("in WAL mode a reader is never locked out, so there is nothing to show")
    child = start(HOLDS, store, "spill")
    with pytest.raises(StoreLocked):
        db.execute("SELECT * FROM notes")
    with pytest.raises(StoreLocked):
        open_store(store, schema, busy_timeout_s=0.05)
    child.kill()
    child.communicate()
    db.close()


def test_what_a_killed_writer_left_is_rolled_back(store: Path, schema: sqlite.Schema, start: Start) -> None:
    """A hot journal beside a file that is larger than its header says: opened, undone, sound."""

    child = start(HOLDS, store, "spill")
    child.send_signal(signal.SIGKILL)
    child.communicate()
    hot = sorted(path.name for path in store.parent.iterdir())
    db = open_store(store, schema)
    tables = [row["name"] for row in db.execute("SELECT name FROM sqlite_master")]
    sound = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()

    assert child.returncode == -signal.SIGKILL
    assert len(hot) > 1
    assert (tables, sound, notes(store, schema)) == (["notes"], "ok", ["first"])


def test_opening_a_store_does_not_drop_the_locks_of_this_process(
    store: Path, schema: sqlite.Schema, start: Start
) -> None:
    """POSIX drops a process's locks on a file when it closes *any* descriptor of it: so none is opened to peek."""

    db = open_store(store, schema)
    with atomic(db):
        db.execute("INSERT INTO notes VALUES ('mine')")
        with pytest.raises(BadStore):
            open_store(store, replace(schema, application_id=1))
        child = start(OPENS + TRIES, store)
        said = child.communicate()[0].split()
    db.close()

    assert said == ["StoreLocked"]


TRIES = """
from labkit.errors import LabError
print("READY", flush=True)
db = sqlite.open_store(path, schema, 0.05)
try:
    with sqlite.atomic(db):
        print("entered")
except LabError as error:
    print(type(error).__name__)
"""


def test_a_connection_does_not_cross_a_fork(store: Path, schema: sqlite.Schema) -> None:
    """A child that uses what it inherited could corrupt the file: it is refused with the cure."""

    db = open_store(store, schema)
    pid = os.fork()
    if pid == 0:  # pytest must not run on in the copy
        try:
            db.execute("SELECT 1")
        except InfrastructureError as error:
            os._exit(7 if "open it in the process that uses it" in str(error) else 1)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    db.close()

    assert ended == 7


# --- migrations -----------------------------------------------------------------------------

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


def test_a_migration_that_fails_leaves_the_old_version_whole(store: Path, schema: sqlite.Schema) -> None:
    """The version and the change it stands for are one commit: neither half a step nor half the steps."""

    broken = replace(schema, version=3, migrations=(SECOND, "ALTER TABLE nots ADD COLUMN stars INTEGER;"))
    with pytest.raises(sqlite3.OperationalError, match="no such table: nots"):
        open_store(store, broken)

    assert (notes(store, schema), columns(store, schema)) == (["first"], ["text"])


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


def test_every_condition_has_an_error_of_ours() -> None:
    """The codes that a user can meet; whatever is left is a bug and stays sqlite3's."""

    for code, expected in CODES.items():
        error = sqlite3.OperationalError("as SQLite says it")
        error.sqlite_errorname = code
        found = sqlite.lab_error_of(error, Path("/"))
        assert expected is type(found), code


CODES: dict[str, type[LabError] | type[None]] = {
    "SQLITE_BUSY": StoreLocked, "SQLITE_BUSY_SNAPSHOT": StoreLocked, "SQLITE_LOCKED": StoreLocked,
    "SQLITE_FULL": StoreUnwritable, "SQLITE_IOERR_WRITE": StoreUnwritable, "SQLITE_IOERR_FSYNC": StoreUnwritable,
    "SQLITE_READONLY": ReadOnly, "SQLITE_READONLY_DIRECTORY": ReadOnly, "SQLITE_PERM": ReadOnly,
    "SQLITE_NOTADB": BadStore, "SQLITE_CORRUPT": BadStore, "SQLITE_CORRUPT_INDEX": BadStore,
    "SQLITE_CANTOPEN": StoreUnwritable if os.access("/", os.W_OK) else ReadOnly,
    "SQLITE_CONSTRAINT_UNIQUE": type(None), "SQLITE_ERROR": type(None), "SQLITE_MISUSE": type(None),
}  # fmt: skip
