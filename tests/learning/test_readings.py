"""What was read from the rows: a row of the journal, appended for ever, and counted at first sight."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from labkit.errors import BadStore
from labkit.learning import predict, readings
from labkit.learning.katas import Kata
from labkit.learning.readings import Reading, Summary
from labkit.stores import sqlite

from .conftest import ANSWERS

READ = {"effects": 1, "finished": True, "who": "journal"}
OLD = Path(__file__).with_name("version_1")  # as the journal's first version wrote it: three predictions


def sealed_and_read(kata: Kata, workspace: Path, **read: int) -> tuple[predict.Sealed, Reading]:
    with predict.journal(workspace) as journal:
        sealed = journal.seal(kata, predict.whole(kata, ANSWERS), 5)
        return sealed, readings.keep(journal, sealed, READ | read, 6)


def test_a_reading_belongs_to_its_prediction(kata: Kata, tmp_path: Path) -> None:
    first, read = sealed_and_read(kata, tmp_path)
    second, _ = sealed_and_read(kata, tmp_path, effects=2)

    with predict.journal(tmp_path) as journal:
        third = journal.seal(kata, predict.whole(kata, ANSWERS | {"effects": 3}), 7)
        assert readings.latest(journal, kata, first) == read
        found = readings.latest(journal, kata, second)
        assert found is not None
        assert (found.reading_id, found.prediction_id, found.answers) == (2, 2, READ | {"effects": 2})
        assert list(found.answers) == ["effects", "finished", "who"]
        assert readings.latest(journal, kata, third) is None
        assert [one.prediction_id for one in journal.all()] == [1, 2, 3]


@pytest.mark.parametrize("statement", ["UPDATE readings SET answers = '{}'", "DELETE FROM readings"])
def test_a_reading_cannot_be_changed_and_tampering_shows(kata: Kata, tmp_path: Path, statement: str) -> None:
    for effects in (1, 2):
        sealed_and_read(kata, tmp_path, effects=effects)
    with predict.journal(tmp_path) as journal, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        journal.db.execute(statement)

    db = sqlite3.connect(tmp_path / predict.FILE)
    db.executescript(
        f"DROP TRIGGER readings_never_change; DROP TRIGGER readings_never_go; {statement} WHERE reading_id = 1;"
    )
    db.close()
    with predict.journal(tmp_path) as journal, pytest.raises(BadStore, match="the chain breaks at reading 1"):
        readings.kept(journal)


def test_a_journal_of_the_first_version_is_brought_forward(kata: Kata, tmp_path: Path) -> None:
    """Its predictions stay to the byte, and can be read after; once forward it is opened like any other."""
    shutil.copy(OLD / predict.FILE, tmp_path)
    db = sqlite3.connect(tmp_path / predict.FILE)
    before = db.execute("SELECT * FROM predictions ORDER BY prediction_id").fetchall()
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()

    with predict.journal(tmp_path) as journal:
        last = journal.latest(kata)
        assert last is not None
        assert (last.prediction_id, last.prediction.answers["effects"]) == (3, 2)
        assert readings.latest(journal, kata, last) is None
        kept = readings.keep(journal, last, READ, 9)
    with predict.journal(tmp_path) as journal:
        assert readings.latest(journal, kata, last) == kept
        after = [tuple(row) for row in journal.db.execute("SELECT * FROM predictions ORDER BY prediction_id")]
        schema = "SELECT name, sql FROM sqlite_master ORDER BY name"
        forward = [tuple(row) for row in journal.db.execute(schema)]
    assert after == before

    with sqlite.create(tmp_path / "new", predict.SCHEMA) as new:
        assert [tuple(row) for row in new.execute(schema)] == forward
    new.close()


def test_what_was_read_at_first_sight_counts() -> None:
    """A second reading may have seen the explanation; a kata that never ran has no rows to be right about."""
    kept = [
        Reading(1, 1, "k01", {"effects": 2, "finished": True}, 1),
        Reading(2, 1, "k01", {"effects": 1, "finished": True}, 2),
        Reading(3, 2, "k01", {"effects": 1, "finished": 1}, 3),  # 1 is no True
        Reading(4, 3, "k02", {"effects": 1}, 4),
    ]

    assert readings.summary(kept, {"k01": {"effects": 1, "finished": True}}) == Summary(4, 2)
    assert readings.summary([], {}) == Summary(0, 0)
