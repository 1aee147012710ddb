"""The learner's own store files: each made whole or not at all, by however many at once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from labkit.errors import BadStore
from labkit.learning import own_files
from labkit.stores import sqlite


def opened(path: Path, schema: sqlite.Schema) -> sqlite.StoreConnection:
    """The store at `path` in a workspace, made where there is none.

    It is made whole under another name and then linked into place, so that of many who make it at
    once one succeeds, and a process that dies leaves no half-made file.

    Raises:
        BadStore: the file is damaged or another's.
        Conflict: what lies there is no file.
        ReadOnly: the workspace may not be written.
        StoreUnwritable: it cannot be made, or the disk is full.
    """
    if not path.exists():
        _make(path, schema)
    own_files.require_file(path)
    try:
        return sqlite.open_store(path, schema)
    except BadStore as error:
        if error.cure == "update labkit":
            raise
        raise BadStore(
            error.message, f"keep it as evidence, move it away: a new {path.name} is made"
        ) from None


def _make(path: Path, schema: sqlite.Schema) -> None:
    own_files.make_folder(path.parent)
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        sqlite.create(new, schema).close()
        os.link(new, path)
    except FileExistsError:
        return  # somebody else was first, and theirs is whole
    finally:
        new.unlink(missing_ok=True)
