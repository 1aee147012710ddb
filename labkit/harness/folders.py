"""Folders for evidence, which are never written over, and for throw-away trials."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from labkit.errors import OutputInUse, ReadOnly, StoreUnwritable


def require_empty(folder: Path) -> None:
    """Make a folder, or accept an empty one.  Raises: OutputInUse, ReadOnly, StoreUnwritable."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputInUse(f"{folder} is not empty", "choose a new folder; evidence is never overwritten")
        folder.mkdir(parents=True, exist_ok=True)
    except PermissionError:
        raise ReadOnly(f"{folder} is not yours to write", "choose a folder you may write") from None
    except (FileExistsError, NotADirectoryError):
        raise OutputInUse(f"{folder} lies below a file", "choose a new folder") from None
    except OSError as error:
        raise StoreUnwritable(f"{folder} cannot be made ({error.strerror})", "check the disk") from None


def memory_folder() -> Path | None:
    """Tmpfs where there is one, None for the usual place: SIGKILL keeps the page cache, so nothing is lost by it."""
    shared_memory = Path("/dev/shm")  # noqa: S108  callers make a private folder in it
    return shared_memory if shared_memory.is_dir() else None


def unused_name(prefix: str) -> Path:
    """Where a private folder can be made that nobody has yet, in memory where there is some."""
    return (memory_folder() or Path(tempfile.gettempdir())) / f"{prefix}{secrets.token_hex(8)}"


def scratch_folder(prefix: str = "lab-") -> Path:
    """A new private folder in memory where there is some."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=memory_folder()))
