"""The gradebook: a row for each learner and kata, one writer, and every row whole or not there."""

from __future__ import annotations

import fcntl
import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from labkit import canonical
from labkit.errors import Conflict, OutputInUse
from labkit.grading.marks import Mark
from labkit.stores import sqlite
from labkit.stores.engine import SIDE_FILES

FILE = "gradebook.sqlite3"
SCHEMA = sqlite.Schema(
    "gradebook",
    0x4C4B4731,
    1,
    resources.files("labkit.grading").joinpath("gradebook.sql").read_text(encoding="utf-8"),
)


class Gradebook:
    """One open gradebook."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db

    def mark(self, learner: str, kata: str, fingerprint: str) -> Mark | None:
        """The mark of this very answer, None where there is none yet."""
        found = sqlite.rows(
            self.db, "SELECT fingerprint, mark FROM marks WHERE learner = ? AND kata = ?", learner, kata
        )
        if not found or found[0]["fingerprint"] != fingerprint:
            return None
        return Mark.from_json(json.loads(found[0]["mark"]))

    def record(
        self, identity: tuple[str, str], fingerprint: str, mark: Mark, sweep: dict[str, Any] | None
    ) -> None:
        """Put down one mark, in a transaction of its own; one that it replaces is kept as earlier."""
        with sqlite.atomic(self.db):
            self.db.execute(
                "INSERT INTO earlier (learner, kata, fingerprint, mark)"
                " SELECT learner, kata, fingerprint, mark FROM marks WHERE learner = ? AND kata = ?",
                identity,
            )
            self.db.execute(
                "INSERT OR REPLACE INTO marks (learner, kata, fingerprint, mark, sweep) VALUES (?, ?, ?, ?, ?)",
                (*identity, fingerprint, text_of(mark.as_json), json.dumps(sweep) if sweep else None),
            )

    def sweep(self, learner: str, kata: str) -> dict[str, Any] | None:
        """The sweep behind a mark, as JSON."""
        found = sqlite.rows(self.db, "SELECT sweep FROM marks WHERE learner = ? AND kata = ?", learner, kata)
        return json.loads(found[0]["sweep"]) if found and found[0]["sweep"] else None

    def earlier(self, learner: str, kata: str) -> list[Mark]:
        """The marks that were replaced, oldest first."""
        rows = sqlite.rows(
            self.db,
            "SELECT mark FROM earlier WHERE learner = ? AND kata = ? ORDER BY earlier_id", learner, kata,
        )  # fmt: skip
        return [Mark.from_json(json.loads(row["mark"])) for row in rows]

    def forget_all_but(self, learners: list[str]) -> None:
        """Move the marks of learners who are not in the class any more to the earlier ones."""
        with sqlite.atomic(self.db):
            self.db.execute("CREATE TEMP TABLE IF NOT EXISTS present (learner TEXT PRIMARY KEY)")
            self.db.execute("DELETE FROM present")
            for learner in learners:
                self.db.execute("INSERT INTO present VALUES (?)", (learner,))
            gone = "FROM marks WHERE learner NOT IN (SELECT learner FROM present)"
            self.db.execute(
                f"INSERT INTO earlier (learner, kata, fingerprint, mark)"
                f" SELECT learner, kata, fingerprint, mark {gone} ORDER BY learner, kata"
            )
            self.db.execute(f"DELETE {gone}")

    def setting(self, name: str, made: str) -> str:
        """A setting that is chosen once: `made` where there is none yet."""
        with sqlite.atomic(self.db):
            self.db.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", (name, made))
            found = self.db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return str(found[0])

    def put(self, name: str, value: str) -> None:
        """Set a setting that changes."""
        with sqlite.atomic(self.db):
            self.db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def claim_scratch(self, folder: Path) -> None:
        """Note where this run's throw-away files will lie, then make the folder; that of a killed run is removed."""
        left = self.setting("home", str(folder))
        if left != str(folder) and Path(left).name.startswith("lab-grade-"):
            shutil.rmtree(left, ignore_errors=True)
        self.put("home", str(folder))
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o711)  # an answer's user finds its own files in there, by a name that it was told


def text_of(value: Any) -> str:
    """JSON text that is the same bytes for the same value; half characters come through."""
    return json.dumps(value, sort_keys=True)


def fingerprint_of(*parts: object) -> str:
    """The digest of everything that a mark depends on."""
    return canonical.digest([json.dumps(part, sort_keys=True, default=str) for part in parts])


@contextmanager
def opened(folder: Path) -> Iterator[Gradebook]:
    """The gradebook of a results folder, made in a new or empty one, for this process alone.

    Raises:
        OutputInUse: the folder holds something else.
        Conflict: another process grades into it.
        BadStore, StoreLocked, StoreUnwritable, ReadOnly: as any store.
    """
    path = folder / FILE
    if folder.exists() and not path.exists() and any(folder.iterdir()):
        leftovers = [one.name for one in folder.iterdir() if not one.name.startswith(f".{FILE}")]
        if leftovers:
            raise OutputInUse(f"{folder} holds {leftovers[0]} and no gradebook", "choose a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{FILE}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another process grades into {folder}", "wait until it is done") from None
        if not path.exists():
            new = folder / f".{FILE}.new"
            for suffix in ("", *SIDE_FILES):
                new.with_name(new.name + suffix).unlink(missing_ok=True)
            sqlite.create(new, SCHEMA).close()
            new.chmod(0o600)  # the secret in it is for nobody else
            new.rename(path)  # whole, or not there
        db = sqlite.open_store(path, SCHEMA)
        try:
            yield Gradebook(db)
        finally:
            db.close()


def new_secret() -> str:
    """A seed that nobody can guess."""
    return secrets.token_hex(16)
