"""What tests of the stores share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from labkit.stores import sqlite

NOTES = sqlite.Schema("notebook", 0x4E4F5445, 1, "CREATE TABLE notes (text TEXT NOT NULL) STRICT;\n")
READY = "READY"

# What the children of these tests begin with.
PRELUDE = """
import sys
from pathlib import Path
from labkit.stores import sqlite
schema = sqlite.Schema("notebook", 0x4E4F5445, 1, "CREATE TABLE notes (text TEXT NOT NULL) STRICT;")
path = Path(sys.argv[1])
"""


@pytest.fixture
def schema() -> sqlite.Schema:
    """The smallest schema: one table of notes."""
    return NOTES


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed store that holds one note."""
    path = tmp_path / "notes.sqlite3"
    db = sqlite.create(path, NOTES, lambda db: db.execute("INSERT INTO notes VALUES ('first')") and None)
    db.close()
    return path


@pytest.fixture
def notes() -> Callable[[Path], list[str]]:
    """Reads the notes in a store, in order."""

    def read(path: Path) -> list[str]:
        db = sqlite.open_store(path, NOTES)
        found = [row["text"] for row in db.execute("SELECT text FROM notes ORDER BY rowid")]
        db.close()
        return found

    return read


@pytest.fixture
def prelude() -> str:
    """What a child begins with: labkit's stores, the schema, and its first argument as `path`."""
    return PRELUDE


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a child that runs some code with `sys.argv[1:]` and waits until it has printed READY."""
    with ExitStack() as children:

        def started(code: str, *arguments: object) -> subprocess.Popen[str]:
            child = children.enter_context(
                subprocess.Popen(
                    [sys.executable, "-I", "-c", PRELUDE + code, *map(str, arguments)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
            children.callback(child.kill)
            assert child.stdout is not None
            assert child.stdout.readline().strip() == READY
            return child

        yield started
