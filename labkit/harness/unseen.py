"""What was written in a world past the eyes of the sweep: by another process, or past sqlite3's Python.

A store with a rollback journal counts its own transactions in its header, so every unseen one shows.
A store in WAL mode keeps no such count, and neither do other files: there a route past this process
(a started program, a C library) is taken for the writer where the content has changed and nothing
else can have changed it.  In doubt it is a problem: a sweep must not flatter.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.harness.remains import readable
from labkit.stores.engine import MAGIC, SIDE_FILES

HEADER = 100  # bytes, https://www.sqlite.org/fileformat2.html#the_database_header
CHANGE_COUNTER = slice(24, 28)
WRITE_VERSION = 18  # 2 means WAL


@dataclass(frozen=True, slots=True)
class Look:
    """A world's files: change counters by store name, and digests by path of what has no counter."""

    counters: dict[str, int]
    wal_stores: dict[str, str]
    other_files: dict[str, str]


@readable()
def look(folder: Path) -> Look:
    """Look at every file below a folder, and change nothing.  Raises: BadHandler: one cannot be read."""
    found = Look({}, {}, {})
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name.endswith(SIDE_FILES) or "__pycache__" in path.parts:
            continue
        data = path.read_bytes()
        if not data.startswith(MAGIC) or len(data) < HEADER:
            found.other_files[str(path)] = hashlib.sha256(data).hexdigest()
        elif data[WRITE_VERSION] == 2:
            log = path.with_name(path.name + "-wal")
            logged = log.read_bytes() if log.is_file() else b""
            found.wal_stores[path.name] = hashlib.sha256(data + logged).hexdigest()
        else:
            found.counters[path.name] = struct.unpack(">I", data[CHANGE_COUNTER])[0]
    return found


def writes(before: Look, after: Look, messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of files that were written by something that the child's messages do not tell of."""
    seen: dict[str, int] = {}
    opened: set[str] = set()
    routes_past = False
    for message in messages:
        seen |= message.get("written", {})
        opened |= {message["wrote_file"]} if "wrote_file" in message else set()
        routes_past |= "route_past" in message
    found = {
        name
        for name, count in after.counters.items()
        if count - before.counters.get(name, 0) > seen.get(name, 0)
    }
    if routes_past:
        found |= {name for name, digest in after.wal_stores.items() if before.wal_stores.get(name) != digest}
    for path, digest in after.other_files.items():
        if before.other_files.get(path) != digest and str(Path(path).resolve()) not in opened:
            found.add(Path(path).name)
    return sorted(found)
