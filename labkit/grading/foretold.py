"""The predictions that were handed in: read from a file that anybody may have made."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

from labkit.errors import LabError
from labkit.learning import predict
from labkit.learning.katas import Kata
from labkit.learning.predict import Prediction

READ_S = 2.0
MOST_VALUE_BYTES = 1_000_000
MOST_PREDICTIONS = 10_000


def read(content: bytes | None, katas: list[Kata]) -> tuple[dict[str, Prediction], str]:
    """The first whole prediction for each kata, and a note where the file cannot be used.

    A later one may have been made with the rows in sight.
    """
    if content is None:
        return {}, ""
    try:
        found = _read(content)
    except (LabError, sqlite3.Error, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        return {}, f"the prediction journal cannot be used ({type(error).__name__}: {str(error)[:100]})"
    asked = {kata.slug: kata for kata in katas}
    whole: dict[str, Prediction] = {}
    for sealed in found:
        kata = asked.get(sealed.kata)
        if kata is not None and is_whole(kata, sealed.prediction):
            whole.setdefault(sealed.kata, sealed.prediction)
    return whole, ""


def is_whole(kata: Kata, prediction: Prediction) -> bool:
    """Whether a prediction answers each field of a kata, and no other."""
    answers = prediction.answers
    return answers.keys() == {field.name for field in kata.fields} and all(
        field.accepts(answers[field.name]) for field in kata.fields
    )


def _read(content: bytes) -> list[predict.Sealed]:
    with tempfile.TemporaryDirectory(prefix="lab-predictions-") as folder:
        path = Path(folder) / predict.FILE
        path.write_bytes(content)
        with predict.journal(Path(folder)) as journal:
            ends_s = time.monotonic() + READ_S
            journal.db.set_progress_handler(lambda: time.monotonic() > ends_s, 10_000)
            journal.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
            kind = journal.db.execute(
                "SELECT type, sql FROM sqlite_master WHERE name = 'predictions'"
            ).fetchone()
            if kind is None or kind["type"] != "table" or "GENERATED" in str(kind["sql"]).upper():
                raise ValueError("it has no table of predictions")
            count = journal.db.execute("SELECT count(*) FROM predictions").fetchone()[0]
            if count > MOST_PREDICTIONS:
                raise ValueError(f"it holds {count} predictions")
            return journal.all()
