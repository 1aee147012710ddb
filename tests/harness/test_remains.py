"""What counts as the same remains of a killed run, and what does not."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.errors import BadHandler
from labkit.harness.remains import copied, digest_of, readable, size_of

Change = Callable[[Path], object]


@pytest.fixture
def world(tmp_path: Path) -> Callable[[str], Path]:
    """Makes worlds that are alike: a store, a folder in it, a link."""

    def one(name: str) -> Path:
        folder = tmp_path / name
        (folder / "notes").mkdir(parents=True)
        (folder / "notes" / "today").write_text("paid", encoding="utf-8")
        (folder / "link").symlink_to("notes/today")
        with sqlite3.connect(folder / "shop.sqlite3") as db:
            db.execute("CREATE TABLE payments (key TEXT)")
        db.close()
        return folder

    return one


SAME: dict[str, Change] = {
    "nothing": lambda _folder: None,
    "another time": lambda folder: os.utime(folder / "notes" / "today", (1, 1)),
    "the same bytes again": lambda folder: (folder / "notes" / "today").write_text("paid", encoding="utf-8"),
}
OTHER: dict[str, Change] = {
    "another byte": lambda folder: (folder / "notes" / "today").write_text("Paid", encoding="utf-8"),
    "one byte more": lambda folder: (folder / "notes" / "today").write_text("paid.", encoding="utf-8"),
    "another name": lambda folder: (folder / "notes" / "today").rename(folder / "notes" / "now"),
    "another place": lambda folder: (folder / "notes" / "today").rename(folder / "today"),
    "an empty file": lambda folder: (folder / "lock").touch(),
    "an empty folder": lambda folder: (folder / "lock").mkdir(),
    "only we may read it": lambda folder: (folder / "notes" / "today").chmod(0o400),
    "a folder that we may not write": lambda folder: (folder / "notes").chmod(0o500),
    "a link to nowhere": lambda folder: (folder / "lock").symlink_to("nobody-1"),
    "a second name of the same file": lambda folder: os.link(folder / "notes" / "today", folder / "today"),
    "the same bytes in a second file": lambda folder: (folder / "today").write_text("paid", encoding="utf-8"),
    "a link elsewhere": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("x")),
    "a file for a link": lambda folder: (
        (folder / "link").unlink(), (folder / "link").write_text("notes/today", encoding="utf-8"),
    ),
    "a pipe": lambda folder: os.mkfifo(folder / "pipe"),
    "a row": lambda folder: rows(folder, 1),
    "a journal of no store's": lambda folder: (folder / "app-journal").write_bytes(b"\0"),
}  # fmt: skip


def rows(folder: Path, count: int) -> None:
    db = sqlite3.connect(folder / "shop.sqlite3")
    with db:
        db.executemany("INSERT INTO payments VALUES (?)", [("k" * 500,)] * count)
    db.close()


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_times_do_not_count(world: Callable[[str], Path], change: Change) -> None:
    one, other = world("one"), world("other")
    change(other)

    assert digest_of(one) == digest_of(other)


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_everything_else_counts(world: Callable[[str], Path], change: Change) -> None:
    one, other = world("one"), world("other")
    change(other)

    assert digest_of(one) != digest_of(other)


@pytest.mark.parametrize("change", (SAME | OTHER).values(), ids=SAME | OTHER)
def test_a_copy_is_the_same_and_a_world_of_its_own(world: Callable[[str], Path], change: Change) -> None:
    one = world("one")
    copy = one.with_name("copy")
    copy.mkdir()
    change(one)

    copied(one, copy)

    assert digest_of(copy) == digest_of(one)
    assert size_of(copy) >= (copy / "shop.sqlite3").stat().st_size
    assert (copy / "shop.sqlite3").stat().st_mtime_ns == (one / "shop.sqlite3").stat().st_mtime_ns
    (copy / "new").touch()
    assert not (one / "new").exists()


def test_a_second_name_is_another_thing_than_a_second_file(world: Callable[[str], Path]) -> None:
    """What is written under one of them later stands under both, or not."""
    one, other = world("one"), world("other")
    OTHER["a second name of the same file"](one)
    OTHER["the same bytes in a second file"](other)

    assert digest_of(one) != digest_of(other)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/w/secret"),
            "`secret` in the world cannot be read",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file", "/w/42"), "`42` in the world came and went"),
    ],
)
def test_what_cannot_be_read_is_named(error: OSError, message: str) -> None:
    with pytest.raises(BadHandler, match=message), readable():
        raise error


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system's Python knows no attributes")
def test_attributes_count_and_are_copied(world: Callable[[str], Path]) -> None:
    one, other = world("one"), world("other")
    copy = one.with_name("copy")
    try:
        os.setxattr(one / "notes" / "today", "user.paid", b"yes")
    except OSError:
        pytest.skip("the filesystem of the tests' folders has no attributes")
    copy.mkdir()

    copied(one, copy)

    assert digest_of(copy) == digest_of(one) != digest_of(other)


def killed_in_a_transaction(folder: Path, statements: list[str]) -> None:
    """A process that runs statements on the store and dies by SIGKILL before any commit."""
    pid = os.fork()
    if pid == 0:
        try:
            db = sqlite3.connect(folder / "shop.sqlite3", isolation_level=None)
            for sql in statements:
                db.execute(sql)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_of_a_journal_that_says_nothing_only_its_being_there_counts(world: Callable[[str], Path]) -> None:
    """A transaction that fits into memory has not touched its store when its process dies, however far it was."""
    one, other, untouched = world("one"), world("other"), world("untouched")
    killed_in_a_transaction(one, ["BEGIN IMMEDIATE", "INSERT INTO payments VALUES ('a')"])
    killed_in_a_transaction(
        other,
        [
            "BEGIN IMMEDIATE",
            "INSERT INTO payments VALUES ('a')",
            "CREATE TABLE t (x)",
            "DELETE FROM payments",
        ],
    )
    journals = [(folder / "shop.sqlite3-journal").read_bytes() for folder in (one, other)]

    assert journals[0] != journals[1]
    assert {journal[:1] for journal in journals} == {b"\0"}
    assert digest_of(one) == digest_of(other) != digest_of(untouched)


def test_a_hot_journal_counts_byte_by_byte(world: Callable[[str], Path]) -> None:
    """Once the cache has spilled, the store is half written, and its journal is what mends it."""
    one, other = world("one"), world("other")
    for folder in (one, other):
        rows(folder, 200)
        killed_in_a_transaction(
            folder, ["PRAGMA cache_size = 5", "BEGIN IMMEDIATE", "UPDATE payments SET key = upper(key)"]
        )
    journal = other / "shop.sqlite3-journal"
    content = journal.read_bytes()
    assert content[:1] == b"\xd9"

    journal.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    assert digest_of(one) != digest_of(other)
