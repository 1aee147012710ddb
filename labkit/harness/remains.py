"""What a killed run leaves in its folder, told apart and copied whole: crashes that leave the same are recovered from once.

A recovery is a process that starts from the files of its world, with a chance and a clock that are the same
after each crash.  From the same bytes it does the same, so a second one would show nothing new.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labkit.errors import BadHandler
from labkit.stores.engine import JOURNAL, MAGIC


@contextmanager
def readable() -> Iterator[None]:
    """Say of what lies in a world which of it cannot be read.  Raises: BadHandler."""
    try:
        yield
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        raise BadHandler(
            f"`{name}` in the world came and went after the run had ended",
            "let the handler end what it starts",
        ) from None
    except PermissionError as error:
        name = Path(str(error.filename)).name
        raise BadHandler(
            f"`{name}` in the world cannot be read", "let its user read what the handler leaves"
        ) from None


@readable()
def digest_of(folder: Path | str) -> str:
    """SHA-256 over every file, folder and link below a folder: name, permissions, attributes and content.

    Two names of one file are another thing than two files.  Times do not count.  Of a rollback journal that
    SQLite takes for none only its being there counts: it begins with a zero until the store itself is about
    to be written (https://www.sqlite.org/fileformat2.html, 3. The Rollback Journal), and what stands behind
    that is never read.

    Raises:
        BadHandler: something cannot be read.
    """
    digest = hashlib.sha256()
    first_names: dict[int, str] = {}
    for name, entry in everything_in(folder):
        content, status = content_of(entry), entry.stat(follow_symlinks=False)
        other = first_names.setdefault(status.st_ino, name) if has_names(status) else name
        head = f"{name}\0{other}\0{status.st_mode}\0{attributes_of(entry)}\0{len(content)}\0"
        digest.update(head.encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


@readable()
def copied(folder: Path | str, copy: Path) -> None:
    """Fill an empty folder with all that is in another: what `digest_of` tells apart, and times.

    A link stays a link, to where it leads, and a pipe a pipe; two names of one file are that again.

    Raises:
        BadHandler: something cannot be read.
    """
    first_names: dict[int, Path] = {}
    folders: list[tuple[str, Path]] = []
    for name, entry in everything_in(folder):
        target, status = copy / name, entry.stat(follow_symlinks=False)
        if has_names(status) and status.st_ino in first_names:
            os.link(first_names[status.st_ino], target)
            continue
        first_names[status.st_ino] = target
        if stat.S_ISDIR(status.st_mode):
            target.mkdir()
            folders.append((entry.path, target))  # it may be closed to us once it looks the same
            continue
        if stat.S_ISLNK(status.st_mode):
            target.symlink_to(Path(entry.path).readlink())
        elif stat.S_ISREG(status.st_mode):
            shutil.copyfile(entry.path, target)
        else:
            os.mknod(target, status.st_mode)
        shutil.copystat(entry.path, target, follow_symlinks=False)
    for original, target in reversed(folders):
        shutil.copystat(original, target)


def size_of(folder: Path | str) -> int:
    """How many bytes the files below a folder have."""
    return sum(entry.stat(follow_symlinks=False).st_size for _, entry in everything_in(folder))


def has_names(status: os.stat_result) -> bool:
    """Whether this is a file that has more names than one."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


def attributes_of(entry: os.DirEntry[str]) -> str:
    """Its extended attributes, where the system has such."""
    if not hasattr(os, "listxattr"):
        return ""
    with suppress(OSError):  # this filesystem has none
        if names := os.listxattr(entry.path, follow_symlinks=False):
            found = [(name, os.getxattr(entry.path, name, follow_symlinks=False)) for name in sorted(names)]
            return repr(found)
    return ""


def everything_in(folder: Path | str, above: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All that lies below a folder, with its path in it, in one order."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        yield above + entry.name, entry
        if entry.is_dir(follow_symlinks=False):
            yield from everything_in(entry.path, f"{above}{entry.name}/")


def content_of(entry: os.DirEntry[str]) -> bytes:
    """A file's bytes, a link's goal, nothing for anything else and for a journal that says nothing."""
    if entry.is_symlink():
        return os.fsencode(Path(entry.path).readlink())
    if not entry.is_file():
        return b""
    content = Path(entry.path).read_bytes()
    says_nothing = entry.name.endswith(JOURNAL) and content[:1] in (b"", b"\0")
    return b"" if says_nothing and is_store(entry) else content


def is_store(journal: os.DirEntry[str]) -> bool:
    """Whether the file beside a journal is a SQLite store."""
    store = Path(journal.path.removesuffix(JOURNAL))
    return store.is_file() and head_of(store) == MAGIC


def head_of(path: Path) -> bytes:
    """The first bytes of a file, as many as a store begins with."""
    with path.open("rb") as file:
        return file.read(len(MAGIC))
