"""Where evidence came from: the machine, the sources that took part, the revision they were at.

Nothing here names a folder, a host or a user: evidence is made to be handed on.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import labkit
from labkit.stores.sqlite import safe_journal_mode

PACKAGE = Path(labkit.__file__).parent
ROOT = PACKAGE.parent
GIT_DEADLINE_S = 5.0


def environment() -> dict[str, str]:
    """What the trials ran on.  Results of another engine or platform need not be the same."""
    return {
        "platform": f"{platform.system()} {platform.machine()} {''.join(platform.libc_ver())}".strip(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "journal_mode": safe_journal_mode(),
        "synchronous": "FULL",
        "labkit": labkit.__version__,
    }


def source_digests(files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of these files and of all of labkit that they import, by path from labkit's parent."""
    return {
        path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name: file_digest(path)
        for path in sorted(closure(files))
    }


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def closure(files: Iterable[Path]) -> set[Path]:
    """These files, the labkit modules that they import, theirs in turn, and the schemas beside them."""
    found: set[Path] = set()
    waiting = [path.resolve() for path in files]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if (schema := path.with_suffix(".sql")).is_file():
            found.add(schema)
        waiting += _imported(path)
    return found


def _imported(path: Path) -> Iterator[Path]:
    """The labkit files that one file imports by name; a name that is no module is skipped."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "labkit":
                place = ROOT.joinpath(*name.split("."))
                candidates = (place.parent / "__init__.py", place.with_suffix(".py"), place / "__init__.py")
                yield from (candidate for candidate in candidates if candidate.is_file())


def revision(names: Iterable[str]) -> dict[str, str | bool] | None:
    """The git commit that labkit lies in, and whether these sources differ from it; None outside of git.

    An installed copy inside somebody's repository is not that repository's: labkit must be tracked in it.
    """
    if _git("ls-files", "--error-unmatch", f"{PACKAGE.name}/__init__.py") is None:
        return None
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", *names)
    return None if commit is None else {"commit": commit, "sources_changed_since": bool(changed)}


def _git(*arguments: str) -> str | None:
    """What git says, None where there is no git or it refuses."""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments],  # noqa: S607  whichever git the user has
            capture_output=True,
            text=True,
            timeout=GIT_DEADLINE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
