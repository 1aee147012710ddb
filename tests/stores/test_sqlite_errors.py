"""Permissions, full disks, held locks: each condition of a file is an error of ours, and changes nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import (
    BadStore,
    InfrastructureError,
    LabError,
    ReadOnly,
    StoreLocked,
    StoreUnwritable,
)
from labkit.stores import sqlite
from labkit.stores.sqlite import atomic, create, open_store

Notes = Callable[[Path], list[str]]
Start = Callable[..., subprocess.Popen[str]]


def everything(folder: Path) -> dict[str, bytes]:
    """The bytes of every file in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


HOLDS = """
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


# --- full disks -----------------------------------------------------------------------------

FILLS = """
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


@pytest.mark.parametrize("limit_bytes", [16 * 1024, 40 * 1024, 100 * 1024])
def test_a_full_disk_undoes_the_whole_transaction(
    prelude: str, notes: Notes, store: Path, schema: sqlite.Schema, limit_bytes: int
) -> None:
    """Exit 3: the machine failed.  The rows are those of before, and the connection holds nothing open."""

    command = [sys.executable, "-I", "-c", prelude + FILLS, str(store), str(limit_bytes), "open"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines() == ["StoreUnwritable 3 no True True", "False"]
    assert notes(store) == ["first"]


def test_sqlites_own_word_for_a_full_disk_is_the_same_error(
    notes: Notes, store: Path, schema: sqlite.Schema
) -> None:
    """SQLITE_FULL, brought about by a limit on the file's pages, and everything of the block undone."""

    db = open_store(store, schema)
    db.execute("PRAGMA max_page_count=3")
    with (
        pytest.raises(StoreUnwritable, match=r"could not be written .*full.*: free disk space") as raised,
        atomic(db),
    ):
        db.execute("INSERT INTO notes VALUES (?)", ("x" * 20_000,))
    db.close()

    assert (raised.value.exit_code, raised.value.effect, notes(store)) == (3, "no", ["first"])


def test_a_full_disk_leaves_no_half_made_store(prelude: str, tmp_path: Path) -> None:
    """What could not be created whole is not there."""

    command = [sys.executable, "-I", "-c", prelude + FILLS, str(tmp_path / "new.sqlite3"), "5000", "create"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines()[0] == "StoreUnwritable 3 no True True"
    assert list(tmp_path.iterdir()) == []


def test_a_lock_held_past_the_timeout_is_a_clear_error(
    notes: Notes, store: Path, schema: sqlite.Schema, start: Start
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
    assert notes(store) == ["first", "second"]


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


def test_what_a_killed_writer_left_is_rolled_back(
    notes: Notes, store: Path, schema: sqlite.Schema, start: Start
) -> None:
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
    assert (tables, sound, notes(store)) == (["notes"], "ok", ["first"])


def test_opening_a_store_does_not_drop_the_locks_of_this_process(
    store: Path, schema: sqlite.Schema, start: Start
) -> None:
    """POSIX drops a process's locks on a file when it closes *any* descriptor of it: so none is opened to peek."""

    db = open_store(store, schema)
    with atomic(db):
        db.execute("INSERT INTO notes VALUES ('mine')")
        with pytest.raises(BadStore):
            open_store(store, replace(schema, application_id=1))
        child = start(TRIES, store)
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
