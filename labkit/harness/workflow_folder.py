"""A folder with one workflow journal, the provider's ledger and the approver's store, under one lock.

The lock is the operating system's: it spans claim, call and acknowledgement, and the end of the
process releases it, however it ends.  A process that is only stopped keeps it: against that one
there are epochs.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from labkit.boundaries import Boundary, Reached, nowhere
from labkit.errors import BadOption, BadStore, OutputInUse, StoreLocked, StoreUnwritable
from labkit.harness.child import DEMO_EXIT_CODE
from labkit.harness.failing import Failure, failing
from labkit.protocol.parties import Parties
from labkit.providers.file import FileProvider
from labkit.stores.authority import Authority
from labkit.stores.journal import Journal
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite_errors import read_only
from labkit.values import Operation

JOURNAL_FILE = "journal.sqlite3"
LEDGER_FILE = "ledger.sqlite3"
AUTHORITY_FILE = "authority.sqlite3"
LOCK_FILE = "journal.sqlite3.lock"
STORE_FILES = (JOURNAL_FILE, LEDGER_FILE, AUTHORITY_FILE)
LOCK_TIMEOUT_S = 5.0
LONGEST_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Mishap:
    """What is made to go wrong in one run: where the process leaves, and how the provider's call fails."""

    leave_at: Boundary | None = None
    failure: Failure = "none"


@dataclass(frozen=True, slots=True)
class Session:
    """An open folder: the parties to one run, and the ledger itself for what only its owner may do."""

    parties: Parties
    ledger: Ledger

    def operation(self, key: str) -> Operation:
        """The one operation of a workflow.  Raises: UnknownName."""
        return self.parties.journal.workflow(key).operations[0]


def create_folder(folder: Path) -> None:
    """Make the three stores, or keep those that are there.  The folder appears whole or not at all.

    Raises:
        OutputInUse: the folder holds something else.
        BadStore: some of the stores are there and others are not.
        ReadOnly, StoreUnwritable: the folder cannot be made.
    """
    if _require_whole(folder):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except PermissionError:
        raise read_only(folder) from None
    except OSError as error:
        raise StoreUnwritable(f"{folder} cannot be made ({error.strerror})", "choose another") from None
    try:
        for store in (Journal.create(fresh / JOURNAL_FILE), Ledger.create(fresh / LEDGER_FILE),
                      Authority.create(fresh / AUTHORITY_FILE, now_ms())):  # fmt: skip
            store.db.close()
        fresh.chmod(0o755)
        fresh.rename(folder)  # onto nothing, or onto an empty folder
    except OSError:
        if not _require_whole(folder):  # else another process was quicker, and its stores are as good
            raise OutputInUse(f"{folder} is not a new or empty folder", "choose another") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _require_whole(folder: Path) -> bool:
    """Whether all stores are there; some of them without the others are evidence, not a new folder."""
    there = [name for name in STORE_FILES if (folder / name).exists()]
    if there and len(there) < len(STORE_FILES):
        raise BadStore(f"{folder} holds {', '.join(there)} alone", "restore the others beside it")
    return bool(there)


@contextmanager
def locked(folder: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Be the only command that drives this folder's workflows.

    Raises:
        BadOption: the timeout is not within an hour.
        BadStore: there is no journal to lock.
        ReadOnly: one of the stores may not be written.
        StoreLocked: another process held the lock for longer than the timeout.
        StoreUnwritable: the lock file cannot be made.
    """
    if not 0 <= timeout_s <= LONGEST_TIMEOUT_S:
        raise BadOption(f"the lock's timeout is {timeout_s} s", f"give 0 to {LONGEST_TIMEOUT_S} seconds")
    if not (folder / JOURNAL_FILE).is_file():
        raise BadStore(f"{folder / JOURNAL_FILE} is missing", "create a workflow, or name its folder")
    for name in STORE_FILES:  # before the first of them is changed
        if (folder / name).exists() and not os.access(folder / name, os.W_OK):
            raise read_only(folder / name)
    try:
        lock = filelock.FileLock(folder / LOCK_FILE, timeout=timeout_s)
        lock.acquire()
    except filelock.Timeout:
        raise StoreLocked(
            f"{folder / LOCK_FILE} was held by another process for {timeout_s:g} s",
            "wait for it to finish, then run this again",
        ) from None
    except PermissionError:
        raise read_only(folder / LOCK_FILE) from None
    except OSError as error:
        raise StoreUnwritable(
            f"{folder / LOCK_FILE} cannot be made ({error.strerror})", "check the disk"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def opened(folder: Path, actor: str = "worker", mishap: Mishap | None = None) -> Iterator[Session]:
    """The folder's three stores, open in this process, at the time that the clock shows now.

    Raises:
        BadStore, ReadOnly, StoreLocked: see `stores.sqlite.open_store`.
    """
    mishap, at_ms = mishap or Mishap(), now_ms()
    reached = leaving_at(mishap.leave_at)
    with ExitStack() as stack:
        journal = Journal.open(folder / JOURNAL_FILE)
        stack.enter_context(closing(journal.db))
        ledger = Ledger.open(folder / LEDGER_FILE)
        stack.enter_context(closing(ledger.db))
        authority = Authority.open(folder / AUTHORITY_FILE)
        stack.enter_context(closing(authority.db))
        provider = failing(FileProvider(ledger, at_ms, reached), mishap.failure)
        yield Session(Parties(journal, authority, provider, at_ms, actor, reached), ledger)


@contextmanager
def driven(
    folder: Path, timeout_s: float = LOCK_TIMEOUT_S, actor: str = "worker", mishap: Mishap | None = None
) -> Iterator[Session]:
    """The folder, open, with its lock held to the end: see `locked` and `opened`."""
    with locked(folder, timeout_s), opened(folder, actor, mishap) as session:
        yield session


def leaving_at(boundary: Boundary | None) -> Reached:
    """An announcer that leaves the process at a boundary by exit code 86, without any clean-up."""
    if boundary is None:
        return nowhere

    def reached(now: Boundary) -> None:
        if now == boundary:
            print(f"left by exit code {DEMO_EXIT_CODE} at {now}: {now.sentence}", file=sys.stderr, flush=True)
            os._exit(DEMO_EXIT_CODE)

    return reached


def now_ms() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
