"""What a killed run leaves in its folder, byte for byte: crashes that leave the same are recovered from once.

A recovery is a process that starts from the files of its world, with a chance and a clock that are the same
after each crash.  From the same bytes it does the same, so a second one would show nothing new.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

STORE = b"SQLite format 3\0"
JOURNAL = "-journal"


def digest_of(folder: Path | str) -> str:
    """SHA-256 over every file, folder and link below a folder: name, permissions and content.

    Times do not count.  Of a rollback journal that SQLite takes for none only its being there counts: it
    begins with a zero until the store itself is about to be written (https://www.sqlite.org/fileformat2.html,
    3. The Rollback Journal), and what stands behind that is never read.
    """
    digest = hashlib.sha256()
    for name, entry in everything_in(folder):
        content = content_of(entry)
        head = f"{name}\0{entry.stat(follow_symlinks=False).st_mode}\0{len(content)}\0"
        digest.update(head.encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


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
    return store.is_file() and head_of(store) == STORE


def head_of(path: Path) -> bytes:
    """The first bytes of a file, as many as a store begins with."""
    with path.open("rb") as file:
        return file.read(len(STORE))
