"""The learner's own store files: each made whole or not at all, by however many at once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from labkit.errors import ReadOnly, StoreUnwritable
from labkit.stores import sqlite


def opened(path: Path, schema: sqlite.Schema) -> sqlite.StoreConnection:
    """The store at `path` in a workspace, made where there is none.

    It is made whole under another name and then linked into place, so that of many who make it at
    once one succeeds, and a process that dies leaves no half-made file.

    Raises:
        BadStore: the file is damaged or another's.
        ReadOnly: the workspace may not be written.
        StoreUnwritable: it cannot be made, or the disk is full.
    """
    if not path.exists():
        _make(path, schema)
    return sqlite.open_store(path, schema)


def _make(path: Path, schema: sqlite.Schema) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except PermissionError:
        raise ReadOnly(
            f"{path.parent} is not yours to write", "set LAB_WORKSPACE to a folder that is"
        ) from None
    except OSError as error:
        raise StoreUnwritable(
            f"{path.parent} cannot be made ({error.strerror})", "set LAB_WORKSPACE to a folder you may write"
        ) from None
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        sqlite.create(new, schema).close()
        os.link(new, path)
    except FileExistsError:
        return  # somebody else was first, and theirs is whole
    finally:
        new.unlink(missing_ok=True)
