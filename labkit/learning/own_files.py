"""The learner's own files and folders: each file whole or as it was, each fault a line that says what to do."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labkit.errors import Conflict, ReadOnly, StoreUnwritable

ANOTHER = "set LAB_WORKSPACE to a folder that you may write"


def make_folder(folder: Path) -> Path:
    """The folder, made with all above it where it is missing.

    Raises:
        ReadOnly: this user may not make it.
        StoreUnwritable: something else lies there or above it, or the disk fails.
    """
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def make_new_folder(folder: Path) -> bool:
    """Make a folder where nothing lies yet; whether it did.  Raises: as `make_folder`."""
    with _told(folder):
        try:
            folder.mkdir()
        except FileExistsError:
            return False
    return True


def require_file(path: Path) -> None:
    """Refuse what stands where a file is looked for and is none: a folder, a pipe, a link to itself.

    Raises:
        Conflict: nothing was changed.
    """
    if os.path.lexists(path) and not path.is_file():
        raise Conflict(f"{path} is no file", "move it away")


def put(path: Path, content: bytes) -> None:
    """Write a file in the place of what lay there: whole on disk, or as it was before.

    Raises:
        Conflict: what lies there is no file.
        ReadOnly, StoreUnwritable: nothing was changed.
    """
    with _whole(path, content) as new:
        new.replace(path)


def put_new(path: Path, content: bytes) -> bool:
    """Write a file where nothing lies yet; whether it did.  Raises: as `put`."""
    with _whole(path, content) as new:
        try:
            os.link(new, path)
        except FileExistsError:
            return False
    return True


@contextmanager
def _whole(path: Path, content: bytes) -> Iterator[Path]:
    """The content on disk under a name of its own, which is gone afterwards."""
    make_folder(path.parent)
    require_file(path)
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # two kernels may write at once
    with _told(path):
        try:
            with new.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield new
        finally:
            with suppress(OSError):  # the first error is the one to report
                new.unlink(missing_ok=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError:
        raise ReadOnly(f"{path} is not yours to write", f"change its permissions, or {ANOTHER}") from None
    except (FileExistsError, NotADirectoryError):
        raise StoreUnwritable(f"{path} cannot be made: a file lies there or above it", ANOTHER) from None
    except OSError as error:
        raise StoreUnwritable(
            f"{path} cannot be written ({error.strerror})", f"free or mend the disk, or {ANOTHER}"
        ) from None
