"""A world's files while they are in the sandbox, and what of them comes back."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from labkit.stores.engine import JOURNAL

MOST_WORLD_BYTES = 32 * 1024 * 1024
MOST_WORLD_FILES = 64
SIDE_FILES = (JOURNAL, "-shm")
SECTOR_BYTES = 512
# Ends a rollback journal that names one: https://www.sqlite.org/fileformat2.html#rollbackjournal
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")


@dataclass(slots=True)
class Lent:
    """A world whose files are in the sandbox: where they came from, and how many children use them."""

    folder: Path
    inside: Path
    served: Path
    kept: frozenset[str]
    returned: Callable[[], object]
    is_looked_at: bool = True
    is_settled: bool = True  # no journal came back that changes its store once that is opened
    account: str = ""  # the file to which the use of each of its runs is added
    users: int = 0

    def look(self) -> str:
        """A digest of what the run has written so far."""
        return look_at(self.inside, self.kept) if self.is_looked_at else ""

    def take_back(self) -> str | None:
        """Bring the plain files back and leave everything else; what was odd about it, None where nothing."""
        self.users -= 1
        if self.users:
            return None
        odd, room = None, MOST_WORLD_BYTES
        for path in sorted(self.inside.iterdir()):
            if path.name in (*self.kept, "__pycache__"):
                continue
            try:
                content = self._content(path, room)
            except (ValueError, OSError) as error:
                odd = f"{path.name[:80]!r} {error.strerror if isinstance(error, OSError) else error}"
                continue
            # A new file with the same bytes: no owner, time or attribute of the old one comes along.
            (self.folder / path.name).write_bytes(content)
            room -= len(content)
        for path in self.folder.glob(f"*{JOURNAL}"):
            if path.name.removesuffix(JOURNAL) not in self.kept:
                self.is_settled &= still(path)
        shutil.rmtree(self.inside, ignore_errors=True)
        shutil.rmtree(self.served, ignore_errors=True)
        self.returned()
        return odd

    def _content(self, path: Path, room: int) -> bytes:
        """What is in a file that a child has left.

        SQLite believes the files beside a store: a journal beside a ledger would rewrite it, and one that
        names a super-journal has whoever opens the store delete the file of that name.

        Raises:
            ValueError, OSError: it is not to be opened out here; the message says why.
        """
        if any(path.name.startswith(f"{name}-") for name in self.kept):
            raise ValueError("lies beside a store that is not the run's own")
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ValueError("is a link or no plain file")
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if os.fstat(file.fileno()).st_nlink != 1:
                raise ValueError("is a link or no plain file")
            content = file.read(room + 1)
        if len(content) > room:
            raise ValueError("is too large")
        if path.name.endswith(JOURNAL) and content.endswith(SUPER_JOURNAL):
            raise ValueError("names another file to be deleted")
        return content

    def size(self) -> tuple[int, int]:
        """How many files lie in it and how many bytes they have."""
        files = size = 0
        for root, _folders, names in os.walk(self.inside):
            for name in names:
                with suppress(OSError):
                    size += os.lstat(Path(root) / name).st_blocks * 512
                files += 1
            if files > MOST_WORLD_FILES:
                break
        return files, size


def look_at(folder: Path, kept: frozenset[str]) -> str:
    """A digest of the plain files in a folder that a run could write, rollback journals and `kept` left out.

    It is taken at every statement of a provider, so it goes to the system directly.
    """
    digest, room = hashlib.blake2b(digest_size=16), MOST_WORLD_BYTES
    with os.scandir(folder) as entries:
        found = sorted((entry.name, entry) for entry in entries)
    for name, entry in found:
        if name in kept or name.endswith(SIDE_FILES) or name == "__pycache__":
            continue
        content = b""
        if entry.is_file(follow_symlinks=False):
            content = head_of(entry.path, room)
        elif not entry.is_symlink():
            name += "/"  # a folder or a pipe is another thing than an empty file
        room -= len(content)
        digest.update(f"{name} {entry.is_symlink()} {len(content)}\n".encode(errors="backslashreplace"))
        digest.update(content)
    return digest.hexdigest()


def head_of(path: str, room: int) -> bytes:
    """The first `room` bytes of a plain file, empty where it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, min(room, os.fstat(fd).st_size))
    finally:
        os.close(fd)


def still(journal: Path) -> bool:
    """Take the words out of a rollback journal that SQLite ignores; False where it would not ignore it.

    A transaction that fits into memory has not touched the store when its process dies: its journal
    begins with a zero, and SQLite reads no more of it.  The next run could, and find a note there.
    """
    with journal.open("r+b") as file:
        if file.read(1) not in (b"", b"\0"):
            return False
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        file.truncate()
        file.write(b"\0" * min(size, SECTOR_BYTES))
    return True
