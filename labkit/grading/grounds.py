"""What a verdict stands on besides the answer: the kata, labkit, Python and SQLite.

Two machines on the same ground give the same sweep of the same answer, byte for byte.
"""

from __future__ import annotations

import hashlib
import platform
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import labkit
from labkit import __version__
from labkit.learning.katas import Kata

SOURCES = (".py", ".sql")


def digest_of(kata: Kata) -> str:
    """The digest of what a kata's marks depend on: its files, workers of its own too, and labkit's version."""
    digest = hashlib.sha256(__version__.encode())
    names = ["kata.toml", "scenario.py", "checks.py"]
    own = {path.name for path in kata.folder.glob("*.py")} - {*names, "lesson.py"}
    for name in [*names, *sorted(own)]:
        digest.update((kata.folder / name).read_bytes())
    return digest.hexdigest()


@cache
def digest_of_labkit() -> str:
    """The digest of labkit's own files but for what only shows results, as they were when first asked for."""
    digest = hashlib.sha256()
    folder = Path(labkit.__file__).parent
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix in SOURCES
    }
    for name in sorted(name for name in files if not name.startswith("ui/")):
        content = files[name].read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def ground(katas: Sequence[Kata]) -> dict[str, str]:
    """What has to be the same on two machines, by name, for the same results."""
    return {
        "labkit": f"{__version__} ({digest_of_labkit()[:12]})",
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "SQLite": sqlite3.sqlite_version,
        **{kata.slug: digest_of(kata)[:12] for kata in katas},
    }


def difference(here: dict[str, str], there: dict[str, str]) -> str:
    """The first thing that is not the same, in words; empty where all is."""
    for name, value in here.items():
        if there.get(name) != value:
            return f"{name} is {there.get(name, 'not there')}, and {value} here"
    return ""
