"""Handlers that know nothing of labkit: a Python file with a function of a folder.

The file's contract, each part a plain function at its top level:

    def crash_world(folder): ...      prepares the stores, once, in an empty folder
    def handler(folder): ...          the worker: run first, and run again after every crash
    def crash_facts(folder): ...      reads one's own ledger and journal, after all is over

`crash_facts` returns `{intent: {"effects": n, "recorded": bool, "over": bool}}`: how often the effect
really happened, whether the workflow has recorded it, and whether the workflow says it is over.
Optional: `crash_identity = {"fencing": [...], "evidence": [...], "derived": [...]}`, names of columns
and tables for depth `all` (see `identity`).  Durable is what lies in the folder.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from labkit.errors import BadHandler
from labkit.harness.child import load_module
from labkit.harness.identity import Identity
from labkit.observations import Row, Snapshot, Tables

SQLITE_MAGIC = b"SQLite format 3\x00"
SIDE_FILES = ("-journal", "-wal", "-shm")


def prepare(file: Path, folder: Path) -> None:
    """Let the file prepare its world.  Raises: BadHandler."""
    module = load_module(file)
    if hasattr(module, "crash_world"):
        module.crash_world(folder)


def identity_of(file: Path) -> Identity:
    """What the file declares about the identity of states.  Raises: BadHandler."""
    declared = getattr(load_module(file), "crash_identity", {})
    try:
        return Identity.from_json(declared)
    except TypeError:
        raise BadHandler(
            f"{file.name} declares crash_identity={declared!r}", "use only fencing, evidence and derived"
        ) from None


def facts(file: Path, folder: Path) -> Snapshot:
    """The facts of a folder as rows, read by the file's own reader.  Raises: BadHandler."""
    module = load_module(file)
    if not hasattr(module, "crash_facts"):
        raise BadHandler(
            f"{file.name} has no function `crash_facts`", "write one that reads your ledger's rows"
        )
    try:
        found = module.crash_facts(folder)
        return {"facts": {"intents": [_fact(intent, fact) for intent, fact in found.items()]}}
    except Exception as error:
        raise BadHandler(f"{file.name}: crash_facts failed ({error!r})", "mend the reader") from error


def _fact(intent: str, fact: Mapping[str, Any]) -> Row:
    effects, recorded, over = fact["effects"], fact["recorded"], fact.get("over", fact["recorded"])
    if isinstance(effects, bool) or not isinstance(effects, int):
        raise TypeError(f"effects of {intent} is {effects!r}, not a number of effects")
    return {"intent": intent, "effects": effects, "recorded": bool(recorded), "over": bool(over)}


def contents(folder: Path) -> Snapshot:
    """Every row of every SQLite file below a folder, and the digest of every other file."""
    rows: Snapshot = {}
    others: list[Row] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if name.endswith(SIDE_FILES) or "__pycache__" in name:
            continue
        with path.open("rb") as file:
            is_store = file.read(16) == SQLITE_MAGIC
        if is_store:
            rows[name] = _tables(path)
        else:
            others.append({"file": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
    if others:
        rows["files"] = {"files": others}
    return rows


def _tables(path: Path) -> Tables:
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        names = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        return {
            row["name"]: [
                {
                    key: value.hex() if isinstance(value, bytes) else value
                    for key, value in dict(found).items()
                }
                for found in db.execute(f'SELECT * FROM "{row["name"]}"')
            ]
            for row in names
        }
