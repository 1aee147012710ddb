"""Append-only, hash-chained events: whatever is changed, removed or inserted later shows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import canonical
from labkit.harness.snapshots import read_tables
from labkit.observations import Tables
from labkit.stores import chain
from labkit.stores.journal import SCHEMA, Journal
from labkit.stores.sqlite import atomic

TRIGGERS = ("events_never_change", "events_never_go")


@pytest.fixture
def journal_file(tmp_path: Path) -> Path:
    """A closed journal with five events of two workflows."""
    path = tmp_path / "journal.sqlite3"
    journal = Journal.create(path)
    with atomic(journal.db):
        for number in range(1, 6):
            journal.append(f"order-{number % 2}", "noted", {"number": number}, number * 1000)
    journal.db.close()
    return path


def tamper(path: Path, *statements: str) -> Tables:
    """Change a journal behind labkit's back, triggers taken away, and read its tables."""
    db = sqlite3.connect(path, isolation_level=None)
    for trigger in TRIGGERS:
        db.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        db.execute(statement)
    db.close()
    return read_tables(path, SCHEMA)


@pytest.mark.parametrize("statement", ["UPDATE events SET body = '{}'", "UPDATE events SET at_ms = 0 WHERE sequence = 3",
    "DELETE FROM events", "DELETE FROM events WHERE sequence = 5",
    "INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 5"])  # fmt: skip
def test_events_are_append_only(journal_file: Path, statement: str) -> None:
    """The file itself refuses to change or lose an event."""

    journal = Journal.open(journal_file)
    with pytest.raises(sqlite3.IntegrityError), atomic(journal.db):
        journal.db.execute(statement)
    journal.db.close()

    assert chain.first_break_of(read_tables(journal_file, SCHEMA)) is None


def test_an_untouched_chain_holds(journal_file: Path) -> None:
    """Numbers from one, each event bound to the one before it."""

    tables = read_tables(journal_file, SCHEMA)

    assert None is chain.first_break_of(tables)
    assert [event["sequence"] for event in tables["events"]] == [1, 2, 3, 4, 5]
    assert [{"number": number} for number in range(1, 6)] == [
        chain.body_of(event) for event in tables["events"]
    ]


CHANGES = {
    "another body": ("UPDATE events SET body = '{\"number\":9}' WHERE sequence = 3", 3),
    "another time": ("UPDATE events SET at_ms = at_ms + 1 WHERE sequence = 2", 2),
    "a time that JSON cannot carry": ("UPDATE events SET at_ms = 9007199254740993 WHERE sequence = 2", 2),
    "another kind": ("UPDATE events SET kind = 'forged' WHERE sequence = 1", 1),
    "another workflow": ("UPDATE events SET workflow_id = 'order-9' WHERE sequence = 5", 5),
    "another digest": ("UPDATE events SET digest = previous_digest WHERE sequence = 4", 4),
    "the first removed": ("DELETE FROM events WHERE sequence = 1", 1),
    "one removed": ("DELETE FROM events WHERE sequence = 3", 3),
    "the last removed": ("DELETE FROM events WHERE sequence = 5", 5),
    "the tail removed": ("DELETE FROM events WHERE sequence > 2", 3),
    "all removed": ("DELETE FROM events", 1),
    "one inserted": ("INSERT INTO events SELECT 6, workflow_id, kind, body, at_ms, digest, digest FROM events WHERE sequence = 5", 6),
    "one renumbered": ("UPDATE events SET sequence = 7 WHERE sequence = 5", 5),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "place"), CHANGES.values(), ids=CHANGES)
def test_any_change_shows_where_it_begins(journal_file: Path, statement: str, place: int) -> None:
    """The number of the first event that is not as it was written."""

    assert place == chain.first_break_of(tamper(journal_file, statement))


def test_two_events_swapped_show(journal_file: Path) -> None:
    """Each row is sound by itself; their order is not."""

    found = tamper(
        journal_file,
        "UPDATE events SET sequence = 90 WHERE sequence = 2",
        "UPDATE events SET sequence = 2 WHERE sequence = 3",
        "UPDATE events SET sequence = 3 WHERE sequence = 90",
    )

    assert chain.first_break_of(found) == 2


def test_appending_over_a_lost_tail_does_not_heal_the_chain(journal_file: Path) -> None:
    """SQLite does not give a number out twice, so the gap stays."""

    tamper(journal_file, "DELETE FROM events WHERE sequence > 3")
    journal = Journal.open(journal_file)
    with atomic(journal.db):
        journal.append("order-0", "noted", {"number": 6}, 6000)
    journal.db.close()

    assert chain.first_break_of(read_tables(journal_file, SCHEMA)) == 4


def test_an_event_that_was_undone_leaves_no_gap(journal_file: Path) -> None:
    """A crash or a rollback is no tampering."""

    journal = Journal.open(journal_file)
    with pytest.raises(ZeroDivisionError), atomic(journal.db):
        journal.append("order-0", "noted", {"number": 1 // 0}, 6000)
    with pytest.raises(ZeroDivisionError), atomic(journal.db):
        raise_after(lambda: journal.append("order-0", "noted", {"number": 6}, 6000))
    with atomic(journal.db):
        journal.append("order-0", "noted", {"number": 6}, 6000)
    journal.db.close()
    tables = read_tables(journal_file, SCHEMA)

    assert (chain.first_break_of(tables), tables["events"][-1]["sequence"]) == (None, 6)


def raise_after(act: Callable[[], None]) -> None:
    """Do something, then fail."""
    act()
    raise ZeroDivisionError


def events(count: int) -> list[dict[str, object]]:
    """A chain of some length, made in memory."""
    db = sqlite3.connect(":memory:")
    for statement in SCHEMA.sql.split(";\n\n"):
        db.executescript(statement + ";")
    for number in range(count):
        chain.append(db, "order-1001", "noted", {"number": number}, number)
    db.row_factory = sqlite3.Row
    found = [dict(row) for row in db.execute("SELECT * FROM events ORDER BY sequence")]
    db.close()
    return found


CHAIN = events(8)


@given(st.integers(0, 7), st.sampled_from(sorted(CHAIN[0])), st.text(max_size=3) | st.integers(0, 9))
def test_no_single_field_can_be_changed_unnoticed(index: int, name: str, value: object) -> None:
    """Whatever the field, whatever the value, unless it is the one that stood there."""

    changed = [{**event, name: value} if event is CHAIN[index] else event for event in CHAIN]

    assert (changed == CHAIN) == (chain.first_break(changed) is None)


@given(st.permutations(range(8)), st.integers(0, 8))
def test_no_other_order_and_no_other_number_of_events_holds(order: list[int], length: int) -> None:
    """Only the whole chain in its order is the chain."""

    chosen = [CHAIN[index] for index in order[:length]]

    assert (chosen == CHAIN) == (chain.first_break(chosen, highest=8) is None)


def test_an_event_rewritten_with_a_digest_of_its_own_breaks_the_next_link() -> None:
    """Each row is sound by itself; the one after it remembers another."""

    forged = {name: value for name, value in {**CHAIN[2], "body": "{}"}.items() if name != "digest"}
    forged["digest"] = canonical.digest(forged)

    assert chain.first_break([*CHAIN[:2], forged, *CHAIN[3:]]) == 4
