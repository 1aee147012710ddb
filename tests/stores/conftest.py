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
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a child that runs some code with `sys.argv[1:]` and waits until it has printed READY."""
    with ExitStack() as children:

        def started(code: str, *arguments: object) -> subprocess.Popen[str]:
            child = children.enter_context(
                subprocess.Popen(
                    [sys.executable, "-I", "-c", code, *map(str, arguments)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
            children.callback(child.kill)
            assert child.stdout is not None
            assert child.stdout.readline().strip() == READY
            return child

        yield started
