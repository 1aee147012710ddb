"""How far the learner is: hints shown, answers checked, predictions compared with the rows, the last kill looked at.

A pass is a pass of exact bytes: it is kept under the answer's SHA-256, so that an edited answer is
pending again, and one that is edited back is done again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, Self

from labkit.learning import own_stores, predict
from labkit.learning.katas import Answer, Kata
from labkit.stores import sqlite

FILE = "progress.sqlite3"
FIRST_SQL, LOOKED_AT_SQL = (
    resources.files("labkit.learning").joinpath(name).read_text(encoding="utf-8")
    for name in ("progress.sql", "looked_at.sql")
)
# Version 1 did not keep where a kill stood.
SCHEMA = sqlite.Schema("progress", 0x4C4B4731, 2, FIRST_SQL + LOOKED_AT_SQL, (LOOKED_AT_SQL,))

Standing = Literal["new", "predicted", "fell short", "edited", "passes", "done"]
SAYS: dict[Standing, str] = {
    "new": "",
    "predicted": "predicted",
    "fell short": "fell short",
    "edited": "edited since it passed",
    "passes": "passes, nothing predicted",
    "done": "done",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check of an answer: the SHA-256 of the bytes that were swept, and whether they passed."""

    answer_digest: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Look:
    """Where a kill stood: a crash point, 0 for none, of the answer with this SHA-256."""

    answer_digest: str
    crash_point: int


class Progress:
    """The workspace's progress over one open connection: `with progress(workspace) as opened:`."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db

    def next_hint(self, kata: Kata, now_ms: int) -> int:
        """Take the next hint, in a transaction of its own: its step from 1, or 0 when all were shown.

        Raises:
            StoreLocked, StoreUnwritable: nothing was taken.
        """
        with sqlite.atomic(self.db):
            step = self.hints_shown(kata.slug) + 1
            if step > len(kata.hints):
                return 0
            self.db.execute("INSERT INTO hints VALUES (?, ?, ?)", (kata.slug, step, now_ms))
        return step

    def hints_shown(self, kata: str) -> int:
        """How many of a kata's hints were shown."""
        found = self.db.execute("SELECT coalesce(max(step), 0) FROM hints WHERE kata = ?", (kata,))
        return int(found.fetchone()[0])

    def add_check(self, kata: str, check: Check, now_ms: int) -> None:
        """Keep the result of one check, in a transaction of its own.

        Raises:
            StoreLocked, StoreUnwritable: nothing was kept.
        """
        with sqlite.atomic(self.db):
            self.db.execute(
                "INSERT INTO checks (kata, answer_digest, passed, checked_at_ms) VALUES (?, ?, ?, ?)",
                (kata, check.answer_digest, int(check.passed), now_ms),
            )

    def checks(self, kata: str) -> list[Check]:
        """Every check of a kata's answer, oldest first."""
        with sqlite.translated(self.db.path):
            found = sqlite.rows(self.db, "SELECT * FROM checks WHERE kata = ? ORDER BY check_id", kata)
        return [Check(row["answer_digest"], bool(row["passed"])) for row in found]

    def put_observed(self, kata: str, answers: Mapping[str, Answer], now_ms: int) -> None:
        """Keep what the rows gave for a kata's fields, all of them in one transaction.

        Raises:
            StoreLocked, StoreUnwritable: nothing was kept.
        """
        with sqlite.atomic(self.db):
            for field, answer in answers.items():
                row = (kata, field, json.dumps(answer), now_ms)
                self.db.execute("INSERT OR REPLACE INTO observed VALUES (?, ?, ?, ?)", row)

    def observed(self) -> dict[str, dict[str, Answer]]:
        """What the rows gave, by kata and field."""
        found: dict[str, dict[str, Answer]] = {}
        with sqlite.translated(self.db.path):
            rows = sqlite.rows(self.db, "SELECT kata, field, answer FROM observed ORDER BY kata, field")
        for row in rows:
            found.setdefault(row["kata"], {})[row["field"]] = json.loads(row["answer"])
        return found

    def put_look(self, kata: str, look: Look, now_ms: int) -> None:
        """Keep where a kata's kill stood last, in a transaction of its own.

        Raises:
            StoreLocked, StoreUnwritable: nothing was kept.
        """
        row = (kata, look.answer_digest, look.crash_point, now_ms)
        with sqlite.atomic(self.db):
            self.db.execute("INSERT OR REPLACE INTO looked_at VALUES (?, ?, ?, ?)", row)

    def look(self, kata: str) -> Look | None:
        """Where a kata's kill stood last, None where it was never moved."""
        with sqlite.translated(self.db.path):
            found = sqlite.rows(self.db, "SELECT * FROM looked_at WHERE kata = ?", kata)
        return Look(found[0]["answer_digest"], found[0]["crash_point"]) if found else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.db.close()


def progress(workspace: Path) -> Progress:
    """The workspace's progress store, made where there is none.

    Raises:
        BadStore, ReadOnly, StoreUnwritable: as for the prediction journal.
    """
    return Progress(own_stores.opened(workspace / FILE, SCHEMA))


def digest_of(answer: Path) -> str | None:
    """The SHA-256 of an answer's bytes, None where there is no file, or something else than one."""
    if not answer.is_file():  # a pipe that stood there would be waited for
        return None
    try:
        return hashlib.sha256(answer.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def answer_place(workspace: Path, kata: str) -> Path:
    """Where the learner's answer of a kata lies: the notebook's check writes it there."""
    return workspace / "answers" / f"{kata}.py"


def standing(predicted: bool, checks: list[Check], answer_digest: str | None) -> Standing:
    """How a kata stands.  Pure.

    `checks` are those of its answer, oldest first; `answer_digest` is that of the answer as it lies
    there now.  Done takes both: a prediction, and an answer of which these very bytes passed.
    """
    same = [check for check in checks if check.answer_digest == answer_digest]
    if same and same[-1].passed:
        return "done" if predicted else "passes"
    if same:
        return "fell short"
    if any(check.passed for check in checks):
        return "edited"
    return "predicted" if predicted else "new"


def standings(workspace: Path, katas: list[Kata]) -> dict[str, tuple[int, Standing]]:
    """By kata: how many predictions are sealed, and how it stands.  Nothing is made or changed.

    Raises:
        BadStore: the prediction journal or the progress store is damaged.
    """
    sealed: list[str] = []
    if (workspace / predict.FILE).exists():
        with predict.journal(workspace) as journal:
            sealed = [one.kata for one in journal.all()]
    checks: dict[str, list[Check]] = {}
    if (workspace / FILE).exists():
        with progress(workspace) as opened:
            checks = {kata.slug: opened.checks(kata.slug) for kata in katas}
    return {
        kata.slug: (
            sealed.count(kata.slug),
            standing(
                kata.slug in sealed,
                checks.get(kata.slug, []),
                digest_of(answer_place(workspace, kata.slug)),
            ),
        )
        for kata in katas
    }
