"""Whether one trial came out as it was expected to, derived from its record alone.

The record holds rows, so the same answer comes out when the trial has just run and when its packet
is verified years later.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from labkit.harness.packets import Record, observation_of
from labkit.harness.trials import Judge
from labkit.observations import Snapshot

Contract = dict[str, Any]


def judged(record: Record, judge: Judge) -> Record:
    """The record with the verdicts that its own rows give; none where the trial was not judged."""
    verdicts = judge(observation_of(record)) if record["outcome"] == "judged" else ()
    return {**record, "verdicts": [asdict(verdict) for verdict in verdicts]}


def compared(record: Record, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Contract:
    """What was found, whether that is safe and as expected, and the rows or the differences that say so.

    `safe` is whether every verdict passes.  A wrong worker that is caught is not safe, and as expected.
    """
    differences = [
        f"{name}: expected {wanted!r}, found {found[name]!r}"
        for name, wanted in expected.items()
        if found[name] != wanted
    ]
    verdicts = record["verdicts"]
    return {
        **found,
        "safe": bool(verdicts) and all(verdict["passed"] for verdict in verdicts),
        "passed": not differences,
        "because": differences or [_says(verdict) for verdict in verdicts],
    }


def _says(verdict: Mapping[str, Any]) -> str:
    caught = "" if verdict["passed"] else f"caught as {verdict['name']}, from rows: "
    return f"{caught}{verdict['because']}"


def verdict_names(record: Record) -> list[str]:
    """The verdicts in order of their names, or what became of the trial where nothing was judged."""
    return sorted(verdict["name"] for verdict in record["verdicts"]) or [record["outcome"]]


def ends(record: Record) -> list[str]:
    """How each process ended, in words: `SIGKILL at effect.committed`, `exit 0`."""
    return [_end(run) for run in record["runs"]]


def _end(run: Mapping[str, Any]) -> str:
    code = run["returncode"]
    how = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return f"{how} at {run['boundary']}" if code else how


def all_pids_differ(record: Record) -> bool:
    """Whether every worker was a process of its own."""
    return len({run["pid"] for run in record["runs"]}) == len(record["runs"])


def rows_of(record: Record, moment: str) -> Snapshot | None:
    """The rows before the first run, at the interruption, or in the end; None where none were kept."""
    kept = record.get(moment)
    return None if kept is None else kept["rows"]


def counts(rows: Snapshot | None, *tables: Sequence[str]) -> list[int] | None:
    """How many rows each (store, table) has; None without rows."""
    return None if rows is None else [len(rows[store][table]) for store, table in tables]
