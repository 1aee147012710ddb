"""The rows of a world's stores at one look and another, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from labkit.observations import Snapshot
from labkit.ui import theme
from labkit.ui.seen import table_of
from labkit.ui.story_facts import JOURNAL
from labkit.values import NO_CURRENCY

EFFECT = ["effect_id", "operation_id", "amount_minor", "currency", "committed_at_ms"]
MOVES_NO_MONEY = ["effect_id", "operation_id", "details", "committed_at_ms"]
CHECKPOINT = ["step", "operation_id", "effect_id", "at_ms"]

Look = tuple[str, Snapshot]  # its name, and the rows


def plain(looks: Sequence[Look], ledgers: Sequence[str]) -> list[str]:
    """A block for each store and look: what was done, and what the journal says of it."""
    return [
        f"{label}, {name}:\n" + ("no row" if frame.empty else str(frame[columns].to_string(index=False)))
        for label, rows in looks
        for name, frame, columns in _tables(rows, ledgers)
    ]


def html(looks: Sequence[Look], ledgers: Sequence[str]) -> list[str]:
    """The same, the stores side by side where there is room."""
    found = []
    for label, rows in looks:
        tables = _tables(rows, ledgers)
        cells = "".join(_frame(f"{label}: <b>{name}</b>", frame, columns) for name, frame, columns in tables)
        found.append(f'<div style="display:flex; flex-wrap:wrap; gap:8px 40px">{cells}</div>')
    return found


def _tables(rows: Snapshot, ledgers: Sequence[str]) -> list[tuple[str, pd.DataFrame, list[str]]]:
    effects = [(lane, table_of(rows, lane, "effects")) for lane in ledgers]
    tables = [(f"{lane}.effects", frame, _effect_columns(frame)) for lane, frame in effects]
    return [*tables, ("journal.checkpoints", table_of(rows, JOURNAL, "checkpoints"), CHECKPOINT)]


def _effect_columns(frame: pd.DataFrame) -> list[str]:
    """What matters of a ledger's effects: the money, or what was sent where there is none."""
    return EFFECT if frame.empty or any(frame["currency"] != NO_CURRENCY) else MOVES_NO_MONEY


def _frame(title: str, frame: pd.DataFrame, columns: list[str]) -> str:
    rows = (
        [tuple(escape(str(value)) for value in row) for row in frame[columns].itertuples(index=False)]
        if len(frame)
        else []
    )
    body = theme.table(tuple(columns), rows) if rows else theme.paragraph("<i>no row</i>")
    return f"<div>{theme.paragraph(title)}{body}</div>"
