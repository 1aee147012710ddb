"""A checkup: is this machine fit for the lab, and are the stores in a folder what they claim to be?

Nothing is changed by looking: stores are read from copies.  A finding has a status: `ok`; `absent`, for
what only some commands need; `fault`, with the exit code that it means.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from labkit.harness.worlds import scratch_folder
from labkit.stores.engine import OLDEST_SQLITE, safe_journal_mode

Status = Literal["ok", "absent", "fault"]
OLDEST_PYTHON = (3, 11)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.  `exit_code` is 0 unless the status is `fault`."""

    what: str
    status: Status
    found: str
    exit_code: int = 0


def machine() -> list[Finding]:
    """Python, SQLite and its journal mode, and what the sandbox, browser tests and harness can use."""
    return [python(), engine(), journal_mode(), bubblewrap(), chromium(), tmpfs(), pidfd()]


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """The interpreter."""
    text = f"{platform.python_implementation()} {'.'.join(map(str, version))}"
    if version < OLDEST_PYTHON:
        return Finding("python", "fault", f"{text}: use 3.11 or newer", 1)
    return Finding("python", "ok", text)


def engine(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> Finding:
    """The SQLite that this Python is linked with."""
    text = ".".join(map(str, version))
    if version < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        return Finding("sqlite", "fault", f"{text}: STRICT tables need {oldest} or newer", 1)
    return Finding("sqlite", "ok", text)


def journal_mode(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> Finding:
    """The journal mode of new stores, and why it is that one.

    >>> journal_mode((3, 51, 3)).found
    'wal: SQLite 3.51.3 has the mended WAL reset'
    """
    mode, text = safe_journal_mode(version), ".".join(map(str, version))
    if mode == "wal":
        return Finding("journal mode", "ok", f"wal: SQLite {text} has the mended WAL reset")
    why = f"in WAL mode SQLite {text} can lose pages when two connections write and checkpoint at once"
    return Finding("journal mode", "ok", f"{mode} (rollback journal): {why}")


def bubblewrap() -> Finding:
    """The sandbox that grading prefers."""
    path = shutil.which("bwrap")
    if path is None:
        return Finding("bubblewrap", "absent", "submissions would run under resource limits only")
    return Finding("bubblewrap", "ok", path)


def chromium() -> Finding:
    """The browser that the browser tests drive."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        return Finding("chromium", "absent", "only the browser tests need it")
    return Finding("chromium", "ok", path)


def tmpfs(mounts: Path = Path("/proc/mounts")) -> Finding:
    """Where trial worlds live."""
    folder = scratch_folder("lab-checkup-")
    folder.rmdir()
    kinds = dict(_mounts(mounts))
    if kinds.get(str(folder.parent)) == "tmpfs":
        return Finding("tmpfs", "ok", f"trials run in {folder.parent}")
    return Finding("tmpfs", "absent", f"trials run on disk, in {folder.parent}, and more slowly")


def _mounts(mounts: Path) -> Iterator[tuple[str, str]]:
    if mounts.is_file():
        for line in mounts.read_text(encoding="utf-8").splitlines():
            _device, place, kind, *_ = line.split()
            yield place, kind


def pidfd() -> Finding:
    """Handles of processes, by which a signal cannot reach a stranger that got the same pid."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        return Finding("pidfd", "absent", f"children are signalled by pid, before they are reaped ({error})")
    return Finding("pidfd", "ok", "available")
