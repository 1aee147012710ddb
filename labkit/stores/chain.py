"""The append-only, hash-chained events of a journal.

Each event's digest covers the digest before it, so a row that was changed, removed or inserted
later breaks the chain from there on.  A lost tail shows too: SQLite's own record of the highest
sequence number stays.  It shows tampering by accident or by the unprepared; someone who rewrites the
whole file can rewrite the chain as well.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from labkit import canonical

FIRST = "0" * 64
LAST = """
SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events'),
       (SELECT digest FROM events ORDER BY sequence DESC LIMIT 1)
"""


def append(db: sqlite3.Connection, workflow_id: str, kind: str, body: Mapping[str, Any], now_ms: int) -> None:
    """Add one event after the last one."""
    highest, previous = db.execute(LAST).fetchone()
    event = {
        "sequence": (highest or 0) + 1,
        "workflow_id": workflow_id,
        "kind": kind,
        "body": canonical.canonical_bytes(dict(body)).decode(),
        "at_ms": now_ms,
        "previous_digest": previous or FIRST,
    }
    db.execute(
        "INSERT INTO events (sequence, workflow_id, kind, body, at_ms, previous_digest, digest)"
        " VALUES (:sequence, :workflow_id, :kind, :body, :at_ms, :previous_digest, :digest)",
        {**event, "digest": canonical.digest(event)},
    )


def first_break(events: Iterable[Mapping[str, Any]], highest: int | None = None) -> int | None:
    """The sequence number where the chain first breaks, None where it holds.

    `events` are rows in sequence order; `highest` is the last number that SQLite gave out, where known.
    """
    previous, expected = FIRST, 1
    for event in events:
        linked = event["previous_digest"] == previous and event["sequence"] == expected
        if not linked or not _fits(event):
            return expected
        previous, expected = event["digest"], expected + 1
    return None if highest is None or highest < expected else expected


def _fits(event: Mapping[str, Any]) -> bool:
    content = {name: value for name, value in event.items() if name != "digest"}
    try:
        return bool(canonical.digest(content) == event["digest"])
    except ValueError:  # a number that JSON cannot carry exactly was written into it
        return False


def first_break_of(tables: Mapping[str, list[dict[str, Any]]]) -> int | None:
    """As `first_break`, for the tables of a journal's snapshot."""
    highest = [row["seq"] for row in tables.get("sequences", []) if row["name"] == "events"]
    return first_break(tables["events"], highest[0] if highest else None)


def json_of(text: str) -> Any:
    """A canonical JSON column as a value."""
    return json.loads(text)


def body_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event's body as an object."""
    return dict(json.loads(event["body"]))
