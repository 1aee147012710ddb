"""The prediction journal: sealed before the run, appended and never changed.

A prediction answers every field of its kata, says how sure its author is, and why.  A second one is
a second row; the first stays for ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from labkit import canonical
from labkit.errors import BadPrediction
from labkit.learning import own_stores
from labkit.learning.chained import Chained
from labkit.learning.katas import Answer, Kata
from labkit.learning.typed import CERTAINTIES as CERTAINTIES
from labkit.learning.typed import band_of, cure_of, shown
from labkit.stores import sqlite

MORE = ("certainty", "because")  # what a prediction says besides its answers
FILE = "predictions.sqlite3"
PREDICTIONS = Chained("predictions", "prediction_id", "prediction")
FIRST_SQL, READINGS_SQL = (
    resources.files("labkit.learning").joinpath(name).read_text(encoding="utf-8")
    for name in ("predictions.sql", "readings.sql")
)
# Version 1 had no readings; `labkit.learning.readings` keeps them.
SCHEMA = sqlite.Schema("prediction journal", 0x4C4B5031, 2, FIRST_SQL + READINGS_SQL, (READINGS_SQL,))


@dataclass(frozen=True, slots=True)
class Prediction:
    """A whole prediction: an answer to each field, a certainty band in per cent, and a reason."""

    answers: dict[str, Answer]
    certainty: str
    because: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """One row of the journal.  `prediction_id` counts from 1 over all katas."""

    prediction_id: int
    kata: str
    prediction: Prediction
    sealed_at_ms: int
    previous_digest: str
    digest: str


def whole(kata: Kata, given: Mapping[str, Any]) -> Prediction:
    """A prediction from what was given by name; `...` stands for an answer not given yet.

    Raises:
        BadPrediction: a field is unknown, unanswered or of another kind, or certainty or reason is missing.
    """
    answers = whole_answers(kata, given, MORE)
    certainty = given["certainty"]
    band = band_of(certainty if isinstance(certainty, str) else shown(certainty))
    return Prediction(answers, band, reason(given["because"]))


def whole_answers(kata: Kata, given: Mapping[str, Any], more: tuple[str, ...] = ()) -> dict[str, Answer]:
    """An answer to each of the kata's fields, from what was given by name; `more` is asked for besides.

    Raises:
        BadPrediction: a name is unknown or unanswered, or an answer is of another kind than its field.
    """
    asked = [field.name for field in kata.fields]
    if unknown := [name for name in given if name not in (*asked, *more)]:
        raise BadPrediction(
            f"kata {kata.slug} does not ask for `{unknown[0]}`", f"it asks for {', '.join(asked)}"
        )
    if missing := unanswered(kata, given, more):
        raise BadPrediction(
            f"not answered yet: {', '.join(missing)}", "fill in each ... and run the cell again"
        )
    for field in kata.fields:
        if not field.accepts(given[field.name]):
            raise BadPrediction(f"`{field.name}` is {shown(given[field.name])}", cure_of(field))
    return {name: given[name] for name in asked}


def reason(because: object) -> str:
    """A reason with its white space folded.  Raises: BadPrediction where it says nothing, or is no text."""
    if not isinstance(because, str) or not because.strip():
        raise BadPrediction(
            "`because` gives no reason", "write the reason in a sentence, wrong ones cost nothing"
        )
    try:
        because.encode()
    except UnicodeEncodeError:  # bytes of another encoding, as a terminal or an argument may hold them
        raise BadPrediction("`because` is not UTF-8", "type it again") from None
    return " ".join(because.split())


def unanswered(kata: Kata, given: Mapping[str, Any], more: tuple[str, ...] = MORE) -> list[str]:
    """The names that still wait for an answer, in the kata's order."""
    names = [*(field.name for field in kata.fields), *more]
    return [name for name in names if given.get(name, ...) is ... or given[name] is None]


def is_blank(kata: Kata, given: Mapping[str, Any], more: tuple[str, ...] = MORE) -> bool:
    """Whether nothing at all is answered, and nothing is named that is not asked."""
    names = [*(field.name for field in kata.fields), *more]
    return unanswered(kata, given, more) == names and set(given) <= set(names)


class PredictionJournal:
    """The learner's journal over one open connection: `with journal(workspace) as opened:`."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db

    def seal(self, kata: Kata, prediction: Prediction, now_ms: int) -> Sealed:
        """Append one prediction, in a transaction of its own, and return its row.

        Raises:
            StoreLocked, StoreUnwritable: nothing was appended.
        """
        row = PREDICTIONS.append(
            self.db,
            {
                "kata": kata.slug,
                "answers": canonical.canonical_bytes(prediction.answers).decode(),
                "certainty": prediction.certainty,
                "because": prediction.because,
                "sealed_at_ms": now_ms,
            },
        )
        return in_order(kata, sealed_of(row))

    def all(self, kata: str | None = None) -> list[Sealed]:
        """Every prediction, or every one of a kata, oldest first.

        Raises:
            BadStore: a row was changed, removed or put in between.
        """
        rows = PREDICTIONS.rows(self.db)
        return [sealed_of(row) for row in rows if kata in (None, row["kata"])]

    def latest(self, kata: Kata) -> Sealed | None:
        """The last prediction for a kata, None before the first.  Raises: BadStore."""
        found = self.all(kata.slug)
        return in_order(kata, found[-1]) if found else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.db.close()


def sealed_of(row: Mapping[str, Any]) -> Sealed:
    """A journal row as a value."""
    prediction = Prediction(json.loads(row["answers"]), row["certainty"], row["because"])
    return Sealed(
        row["prediction_id"],
        row["kata"],
        prediction,
        row["sealed_at_ms"],
        row["previous_digest"],
        row["digest"],
    )


def in_order(kata: Kata, sealed: Sealed) -> Sealed:
    """The same, its answers in the order in which the kata asks; the journal keeps them sorted by name."""
    answers = sealed.prediction.answers
    asked = {field.name: answers[field.name] for field in kata.fields if field.name in answers}
    return replace(sealed, prediction=replace(sealed.prediction, answers=asked))


def journal(workspace: Path) -> PredictionJournal:
    """The workspace's journal, made where there is none.

    Raises:
        BadStore: the file is damaged or another's.
        ReadOnly: the workspace may not be written.
        StoreUnwritable: it cannot be made, or the disk is full.
    """
    return PredictionJournal(own_stores.opened(workspace / FILE, SCHEMA))
