"""When are two durable states the same state?  A digest of the stores' logical content.

Values stay concrete, with four exceptions, since otherwise a right handler would never come back to
a state it has been in:

- fencing columns rise with every claim: they are ranked, jointly over all stores;
- opaque values that a child minted (a random key) are named by first appearance, wherever they stand;
- evidence rows, which the handler writes and never reads, are left out;
- columns that are computed from others (a receipt's digest), that name an incarnation, or that keep
  what was last observed, are left out.

An exception that hides a difference is noticed: every state that two different contents are merged
into is run from both, and is split where they go on differently (see `closure`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.observations import Snapshot


@dataclass(frozen=True, slots=True)
class Identity:
    """Which tables are evidence, and which columns are ranked or left out.  Names hold in every store."""

    evidence: frozenset[str] = frozenset()
    fencing: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()

    @classmethod
    def from_json(cls, declared: Mapping[str, Iterable[str]]) -> Identity:
        """What a handler's file declares as `crash_identity`."""
        return cls(**{name: frozenset(values) for name, values in declared.items()})


LABKIT = Identity(
    evidence=frozenset({"events", "attempts", "recovery_receipts", "invocations", "sequences"}),
    fencing=frozenset({"epoch", "highest_epoch", "version"}),
    derived=frozenset({"receipt_digest", "owner", "last_observed_status", "observed_at_ms", "source"}),
)


def raw_digest(rows: Snapshot) -> str:
    """The digest of every row as it stands: equal only for equal contents."""
    return _sha256(json.dumps(rows, sort_keys=True))


def state_digest(rows: Snapshot, minted: Iterable[str], identity: Identity = LABKIT) -> str:
    """The digest of the state that these rows are in.  `minted` are the opaque values drawn so far."""
    kept = {
        store: {name: table for name, table in tables.items() if name not in identity.evidence}
        for store, tables in rows.items()
    }
    ranks = {value: rank for rank, value in enumerate(sorted({0} | set(fencing_values(kept, identity))))}

    def plain(name: str, value: Any) -> Any:
        return {"rank": ranks[value]} if name in identity.fencing and value is not None else value

    content = {
        store: {
            name: [{key: plain(key, row[key]) for key in row if key not in identity.derived} for row in table]
            for name, table in tables.items()
        }
        for store, tables in kept.items()
    }
    return _sha256(by_appearance(json.dumps(content, sort_keys=True), minted))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fencing_values(rows: Snapshot, identity: Identity) -> Iterable[int]:
    """Every value of every fencing column."""
    for tables in rows.values():
        for table in tables.values():
            for row in table:
                yield from (row[name] for name in identity.fencing if row.get(name) is not None)


def by_appearance(text: str, minted: Iterable[str]) -> str:
    """The text with every minted value replaced by its number in order of first appearance.

    >>> by_appearance("keys c0ffee and 123456 and c0ffee", ["123456", "c0ffee"])
    'keys <1> and <2> and <1>'
    """
    tokens = sorted(set(minted), key=lambda token: (-len(token), token))
    if not tokens:
        return text
    names: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"<{len(names) + 1}>")

    return re.sub("|".join(map(re.escape, tokens)), named, text)
