"""What a learner handed in, as bounded bytes by name: from a folder, one file, or a zip archive.

Nothing is unpacked to disk, no link is followed, and nothing is read past its limit, whatever a zip's
header says of itself.
"""

from __future__ import annotations

import io
import os
import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

MOST_FILES = 500
MOST_FILE_BYTES = 10 * 1024 * 1024
MOST_BYTES = 50 * 1024 * 1024
WANTED = (".ipynb", ".py", ".sqlite3", ".json", ".zip")
READ_AT_ONCE = 1 << 16

Files = dict[str, bytes]


class Refused(Exception):
    """A hand-in that is not read at all, and why."""


def handed_in(path: Path) -> tuple[Files, list[str]]:
    """The files of one hand-in by name, and notes on what was left out.  Raises: Refused."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return _of_folder(path)
    if not stat.S_ISREG(mode):
        raise Refused(f"{path.name} is a link or no file")
    content = _read(path)
    if path.suffix.lower() == ".zip":
        return of_zip(content, path.name), []
    return {path.name: content}, []


def _of_folder(folder: Path) -> tuple[Files, list[str]]:
    files: Files = {}
    notes: list[str] = []
    for path in _walk(folder, notes):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() not in WANTED:
            continue
        if len(files) >= MOST_FILES:
            raise Refused(f"more than {MOST_FILES} files")
        content = _read(path)
        if path.suffix.lower() == ".zip":
            files |= {f"{name}/{inner}": text for inner, text in of_zip(content, name).items()}
        else:
            files[name] = content
        if sum(map(len, files.values())) > MOST_BYTES:
            raise Refused(f"more than {MOST_BYTES} bytes")
    return files, notes


def _walk(folder: Path, notes: list[str]) -> Iterator[Path]:
    """The regular files below a folder in order of their names; links are noted and left alone."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise Refused(f"{folder.name} cannot be read ({error.strerror})") from None
    for entry in entries:
        if entry.name.startswith(".") or entry.name in ("__pycache__", "__MACOSX"):
            continue
        if entry.is_symlink():
            notes.append(f"{entry.name} is a link and was not followed")
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), notes)
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        else:
            notes.append(f"{entry.name} is no regular file and was not opened")


def _read(path: Path) -> bytes:
    """A regular file's bytes.  Raises: Refused: too large, or not what it was when it was listed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Refused(f"{path.name} cannot be read ({error.strerror})") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused(f"{path.name} is no regular file")
        return _bounded(file, path.name)


def _bounded(file: IO[bytes], name: str) -> bytes:
    content = bytearray()
    while piece := file.read(READ_AT_ONCE):
        content += piece
        if len(content) > MOST_FILE_BYTES:
            raise Refused(f"{name} is larger than {MOST_FILE_BYTES} bytes")
    return bytes(content)


def of_zip(content: bytes, name: str) -> Files:
    """The members of a zip archive that grading reads, in memory.

    Raises:
        Refused: a member is absolute, leads upward, is a link, is encrypted, stands twice or grows too
            large, or the archive is damaged.
    """
    files: Files = {}
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > MOST_FILES:
                raise Refused(f"{name} has more than {MOST_FILES} members")
            for member in members:
                require_plain(member, name)
                if member.is_dir() or not member.filename.lower().endswith(WANTED[:-1]):
                    continue
                if member.filename in files:
                    raise Refused(f"{name}: {member.filename} stands in it twice")
                with archive.open(member) as opened:
                    files[member.filename] = _bounded(opened, f"{name}: {member.filename}")
                total += len(files[member.filename])
                if total > MOST_BYTES:
                    raise Refused(f"{name} unpacks to more than {MOST_BYTES} bytes")
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError, RuntimeError) as error:
        raise Refused(f"{name} is no zip archive that can be read ({error})") from None
    except Exception as error:  # zlib.error, lzma.LZMAError: damaged data
        if isinstance(error, Refused):
            raise
        raise Refused(f"{name} is damaged ({type(error).__name__})") from None
    return files


def require_plain(member: zipfile.ZipInfo, archive: str) -> None:
    """Let a member pass that is a plain file or folder below the archive.  Raises: Refused."""
    name = unicodedata.normalize("NFKC", member.filename)
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or (parts and ":" in parts[0]):
        raise Refused(f"{archive}: {member.filename!r} is an absolute path")
    if ".." in parts:
        raise Refused(f"{archive}: {member.filename!r} leads out of the archive")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refused(f"{archive}: {member.filename!r} is a link or no file")
    if member.flag_bits & 0x1:
        raise Refused(f"{archive}: {member.filename!r} is encrypted")
