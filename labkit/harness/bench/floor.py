"""The floor: the same forks, kills and SQL on the same filesystem, without labkit.

`python -I floor.py < plan.json` knows nothing but the standard library.  It is given a template folder and
the SQL that labkit's processes ran, PRAGMAs and all, by file, and prints how long each trial took: copy
the template, fork a child that opens the stores, runs the statements, says where it is and kills itself,
fork a second one that runs a resume's to the end, then read every row.  How each child ended is
checked, as no trial is one without it.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

Statement = list[str]  # [file name, SQL]


def main() -> None:
    """Print the seconds of each piece of the plan's work, as JSON."""
    plan = json.load(sys.stdin)
    print(
        json.dumps(
            effects(plan) if "transactions" in plan else [seconds_of(plan, *one) for one in plan["points"]]
        )
    )


def seconds_of(plan: dict[str, Any], work: str, stop_at: int) -> float:
    """The seconds of one `kill`, or of one `trial`: a kill, a resume after it, and a reading."""
    began = time.perf_counter()
    folder = Path(tempfile.mkdtemp(dir=plan["scratch"]))
    shutil.copytree(plan["template"], folder, dirs_exist_ok=True)
    in_child(folder, plan["first"], stop_at)
    if work == "trial":
        in_child(folder, plan["resumes"][commits_in(first_of(plan["first"], stop_at))], 0)
    read(folder, plan["read"])
    shutil.rmtree(folder)
    return time.perf_counter() - began


def in_child(folder: Path, statements: list[Statement], stop_at: int) -> None:
    """Run statements in a forked child, up to the point where it kills itself (0: to the end)."""
    statements = first_of(statements, stop_at)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run(folder, statements)
            os.write(writing, b"%d" % stop_at)
            os.kill(os.getpid(), signal.SIGKILL if stop_at else signal.SIGCONT)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    said, (_, status) = os.read(reading, 100), os.waitpid(pid, 0)
    os.close(reading)
    ended = os.waitstatus_to_exitcode(status)
    if (said, ended) != (b"%d" % stop_at, -signal.SIGKILL if stop_at else 0):
        sys.exit(f"the child that was to stop at {stop_at} said {said!r} and ended with {ended}")


def first_of(statements: list[Statement], stop_at: int) -> list[Statement]:
    """The first `stop_at` statements, those that are no PRAGMA counted (0: all)."""
    numbers = itertools.accumulate(not sql.lstrip().upper().startswith("PRAGMA") for _, sql in statements)
    return [one for one, number in zip(statements, numbers, strict=True) if not stop_at or number <= stop_at]


def commits_in(statements: list[Statement]) -> int:
    """How many transactions they complete: what a resume has to do depends on nothing else."""
    return sum(sql == "COMMIT" for _, sql in statements)


def run(folder: Path, statements: list[Statement]) -> None:
    """Open each file on first use, and run its statements."""
    open_files: dict[str, sqlite3.Connection] = {}
    for file, sql in statements:
        if file not in open_files:
            open_files[file] = connect(folder / file)
        open_files[file].execute(sql).fetchall()


def read(folder: Path, queries: list[Statement]) -> None:
    """Every row of every table, as dicts, as a judge needs them."""
    open_files: dict[str, sqlite3.Connection] = {}
    for file, sql in queries:
        if file not in open_files:
            open_files[file] = connect(folder / file)
            open_files[file].row_factory = sqlite3.Row
        [dict(row) for row in open_files[file].execute(sql)]
    for db in open_files.values():
        db.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection that opens no transaction by itself."""
    return sqlite3.connect(path, isolation_level=None)


def effects(plan: dict[str, Any]) -> list[float]:
    """Run each transaction of the plan against one file, in this process: the seconds of each."""
    db = connect(Path(plan["file"]))
    for sql in ("PRAGMA foreign_keys=ON", "PRAGMA synchronous=FULL"):
        db.execute(sql)
    seconds = []
    for statements in plan["transactions"]:
        began = time.perf_counter()
        for sql in statements:
            db.execute(sql).fetchall()
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    main()
