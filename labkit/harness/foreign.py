"""Handlers that know nothing of labkit: a Python file with a function of a folder.

The file's contract, each part a plain function at its top level:

    def crash_world(folder): ...      optional: prepares the stores, once, in an empty folder
    def handler(folder): ...          the worker: run first, and run again after every crash
    def crash_facts(folder): ...      reads one's own ledger and journal, after all is over

`crash_facts` returns `{intent: {"effects": n, "recorded": bool, "over": bool}}`: how often the effect
really happened, whether the workflow has recorded it, and whether the workflow says it is over
(without it: as recorded).  Two more, false where they are left out: `refused` and `unknown`, the
honest stops.  Optional: `crash_identity = {"fencing": [...], "evidence": [...], "derived": [...]}`,
names of columns and tables for depth `all` (see `identity`).  Durable is what lies in the folder.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from labkit.harness.child import ChildSpec
from labkit.harness.launchers import ForkLauncher
from labkit.observations import ProcessRun, Row, Snapshot, Tables
from labkit.stores.engine import MAGIC, SIDE_FILES

FLAGS = ("recorded", "over", "refused", "unknown")


def facts(reader: str, folder: Path, deadline_s: float) -> Snapshot:
    """The facts of a folder as rows, read by the reader's `crash_facts` in a process of its own.

    Where it cannot read them, `unreadable` holds one row that says why, and there are no intents:
    that is a finding about the rows, or a mistake in the reader, which a fault-free run tells apart.
    """
    spec = ChildSpec(str(folder), reader, "crash_facts", world="folder")
    with ForkLauncher().start(spec) as child:
        run = child.finish("reader", deadline_s)
    why, rows = "", []
    try:
        rows = [row_of(intent, fact) for intent, fact in answer_of(run).items()]
    except ValueError as error:
        why = f"{Path(reader).name}: crash_facts {error}"
    return {"facts": {"intents": rows, "unreadable": [{"because": why}] if why else []}}


def answer_of(run: ProcessRun) -> Mapping[str, Any]:
    """What the reader returned.  Raises: ValueError: it failed, or returned nothing of use."""
    if run.timed_out:
        raise ValueError("passed its deadline")
    if run.returncode != 0:
        lines = run.stderr_tail.strip().splitlines() or [f"ended with {run.returncode}"]
        raise ValueError(f"failed ({lines[-1]})")
    if not isinstance(run.result, dict) or not run.result:
        raise ValueError(f"returned {run.result!r}, not a dictionary with a row for each intent")
    return run.result


def row_of(intent: str, fact: Any) -> Row:
    """One intent's facts, checked.  Raises: ValueError."""
    if not isinstance(fact, dict):
        raise ValueError(f"returned {fact!r} for {intent}, not a dictionary")
    if unknown := sorted(fact.keys() - {"effects", *FLAGS}):
        raise ValueError(f"returned `{unknown[0]}` for {intent}; known are effects, {', '.join(FLAGS)}")
    if type(fact.get("effects")) is not int or fact["effects"] < 0:
        raise ValueError(f"returned effects={fact.get('effects')!r} for {intent}, not a number of effects")
    if "recorded" not in fact:
        raise ValueError(f"returned no `recorded` for {intent}")
    flags = {"over": fact["recorded"], "refused": False, "unknown": False, **fact}
    return {"intent": intent, "effects": fact["effects"], **{name: bool(flags[name]) for name in FLAGS}}


def contents(folder: Path) -> Snapshot:
    """Every row of every SQLite file below a folder, and the digest of every other file."""
    rows: Snapshot = {}
    others: list[Row] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if name.endswith(SIDE_FILES) or "__pycache__" in name:
            continue
        with path.open("rb") as file:
            is_store = file.read(len(MAGIC)) == MAGIC
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


def copied_contents(folder: Path) -> Snapshot:
    """`contents`, read from a copy: opening a store rolls a hot journal back, and looking changes nothing."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".contents-") as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        return contents(Path(copy))
