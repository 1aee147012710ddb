"""Which SQL a run of labkit's executes, by file, so that the floor can execute the same.

`python -m labkit.harness.bench.recording '{...}'` runs one child's handler and prints its statements.
"""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

from labkit.harness import child
from labkit.harness.child import ChildSpec


def statements_of(run: Any) -> list[list[str]]:
    """[file name, SQL] of every statement that `run()` executes, values filled in.

    PRAGMAs belong to it: a store is opened with some, and checked by others before it is believed.
    """
    found: list[list[str]] = []
    connect = sqlite3.connect

    def recorded(database: Any, *arguments: Any, **more: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(database, *arguments, **more)
        name = Path(database).name
        db.set_trace_callback(lambda sql: keep(name, sql))
        return db

    def keep(name: str, sql: str) -> None:
        if not sql.lstrip().startswith("--"):  # a comment announces a trigger's body
            found.append([name, sql])

    sqlite3.connect = recorded  # type: ignore[assignment]
    try:
        run()
    finally:
        sqlite3.connect = connect
    return found


def main() -> None:
    """Entry point: one ChildSpec as JSON in, its statements as JSON out."""
    values = json.loads(sys.argv[1])
    spec = ChildSpec(**values)
    with contextlib.redirect_stdout(io.StringIO()):
        found = statements_of(lambda: child.run(spec))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
