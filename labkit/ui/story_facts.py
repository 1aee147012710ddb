"""What the rows of one run are as facts of a story: by its clock, and by whose doing they are.  Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal

from labkit.observations import Row, Snapshot
from labkit.values import NO_CURRENCY

MarkKind = Literal[
    "start", "boundary", "ahead", "kill", "exit", "effect", "undone", "refused", "checkpoint", "between"
]
Fact = tuple[str, MarkKind, str]  # lane, kind, label
RUN_MS = 1000  # run n happens at n * 1000 ms on the world's own clock
CALLED_CENTS = ("AUD", "CAD", "EUR", "NZD", "USD")  # what a hundredth is called; elsewhere it is a minor unit
JOURNAL = "journal"


def facts_of_run(rows: Snapshot, ledgers: tuple[str, ...], at_ms: int) -> list[Fact]:
    """What one run left in the stores, told by its clock: effects and refusals as asked for, checkpoints."""
    facts: list[Fact] = []
    for ledger in ledgers:
        effects = iter(_at(rows[ledger]["effects"], "committed_at_ms", at_ms))
        for submit in _at(rows[ledger]["invocations"], "at_ms", at_ms):
            if submit["status"] == "committed":
                facts += [(ledger, "effect", effect_label(row)) for row in islice(effects, 1)]
            elif submit["status"] != "already_committed":
                facts.append((ledger, "refused", f"refused: {submit['status']}"))
        facts += [(ledger, "effect", effect_label(row)) for row in effects]
    checkpoints = _at(rows[JOURNAL]["checkpoints"], "at_ms", at_ms)
    return facts + [(JOURNAL, "checkpoint", f"checkpoint: {row['step']}") for row in checkpoints]


def refusals(rows: Snapshot, at_ms: int) -> list[Fact]:
    """The refusals that one run noted in the journal: for a worker whose last words nobody heard."""
    bodies = [json.loads(row["body"]) for row in _at(rows[JOURNAL]["events"], "at_ms", at_ms)]
    noted = [body.get("evidence", {}).get("refused") for body in bodies]
    return [(JOURNAL, "refused", f"refused: {reason}") for reason in noted if reason]


def effect_label(row: Row) -> str:
    """One effect in a few words; its key on a line of its own."""
    currency = row["currency"]
    unit = "cents" if currency in CALLED_CENTS else "minor units"
    money = "" if currency == NO_CURRENCY else f" {row['amount_minor']:,} {currency} {unit}"
    return f"{row['kind']}{money}\n{row['operation_id'] or 'no key'}"


def told_apart(rows: Snapshot, ledgers: tuple[str, ...], workflow_id: str) -> tuple[Snapshot, Snapshot]:
    """The same rows twice: without what was done for one workflow, and that alone.

    A key that the journal does not know was made up on the way: then the subject says whose it is.
    """
    operations = rows[JOURNAL]["operations"]
    owners = {row["operation_id"]: row["workflow_id"] for row in operations}
    subjects = {
        json.loads(row["action"])["subject"] for row in operations if row["workflow_id"] == workflow_id
    }

    def is_theirs(row: Row) -> bool:
        owner = row.get("workflow_id") or owners.get(row["operation_id"])
        return owner == workflow_id if owner else row["subject"] in subjects

    return _where(rows, ledgers, lambda row: not is_theirs(row)), _where(rows, ledgers, is_theirs)


def precede(one: Snapshot, other: Snapshot, ledgers: tuple[str, ...], at_ms: int) -> bool:
    """Whether what `one` holds of a run was done before what `other` does; true where nothing tells."""
    places = [(name, "effects", "committed_at_ms", "effect_id") for name in ledgers]
    for store, table, clock, number in (*places, (JOURNAL, "events", "at_ms", "sequence")):
        first, second = (_at(rows[store][table], clock, at_ms) for rows in (one, other))
        if first and second:
            return bool(first[0][number] < second[0][number])
    return True


def _where(rows: Snapshot, ledgers: tuple[str, ...], wanted: Callable[[Row], bool]) -> Snapshot:
    tables = {JOURNAL: ("checkpoints", "events"), **dict.fromkeys(ledgers, ("effects", "invocations"))}
    return {
        store: {table: [row for row in rows[store][table] if wanted(row)] for table in names}
        for store, names in tables.items()
    }


def _at(rows: Iterable[Row], column: str, at_ms: int) -> list[Row]:
    return [row for row in rows if row[column] == at_ms]
