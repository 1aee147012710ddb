"""A world's files while they are in the sandbox, and what of them comes back."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_WORLD_BYTES = 32 * 1024 * 1024
MOST_WORLD_FILES = 64
SUPER_JOURNAL = bytes.fromhex(
    "d9d505f920a163d7"
)  # ends a rollback journal that names one, sqlite.org/fileformat2


@dataclass(slots=True)
class Lent:
    """A world whose files are in the sandbox: where they came from, and how many children use them."""

    folder: Path
    inside: Path
    served: Path
    kept: frozenset[str]
    returned: Callable[[], object]
    users: int = 0

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
        if path.name.endswith("-journal") and content.endswith(SUPER_JOURNAL):
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
