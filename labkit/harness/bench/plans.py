"""The floor's plan: a job's SQL as its own children run it, and the process without labkit that runs it too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from labkit.harness.bench import floor
from labkit.harness.jobs import SweepJob
from labkit.stores.journal import SCHEMA as JOURNAL
from labkit.stores.ledger import SCHEMA as LEDGER


def plan_of(job: SweepJob, scratch: Path) -> dict[str, Any]:
    """The SQL of a job's first run, of a resume after a whole run, and of reading all rows."""
    first = shutil.copytree(job.template, scratch / "record-first")
    resume = shutil.copytree(job.template, scratch / "record-resume")
    tables = {"journal.sqlite3": JOURNAL, "ledger.sqlite3": LEDGER}
    reads = [
        [file, f"SELECT * FROM {name}"] for file, schema in tables.items() for name in tables_of(schema.sql)
    ]
    return {
        "template": job.template,
        "scratch": str(scratch),
        "first": recorded(replace(job, seed="1"), first, 1),
        "resume": recorded(job, resume, 2),
        "read": [*reads, *([file, "PRAGMA integrity_check"] for file in tables)],
    }


def tables_of(sql: str) -> list[str]:
    """The tables that a schema makes."""
    return [line.split()[2] for line in sql.splitlines() if line.startswith("CREATE TABLE")]


def recorded(job: SweepJob, folder: Path, run_number: int) -> list[list[str]]:
    """The statements that one run executes, from a process of its own."""
    spec = json.dumps(asdict(job.spec(folder, run_number)))
    done = subprocess.run(
        [sys.executable, "-I", "-m", "labkit.harness.bench.recording", spec],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[list[str]] = json.loads(done.stdout)
    return found


def run_floor(plan: dict[str, Any]) -> list[float]:
    """Let the floor do its work in a process without labkit."""
    done = subprocess.run(
        [sys.executable, "-I", str(Path(floor.__file__))],
        input=json.dumps(plan),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds: list[float] = json.loads(done.stdout)
    return seconds
