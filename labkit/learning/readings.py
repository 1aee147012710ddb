"""What the learner read from the rows, kept before anything is explained.

People misread what they see about as confidently as they mispredict it.  A reading answers the
kata's own fields once more, from the rows of the runs, and belongs to the prediction it follows.  It
is a row of the prediction journal, appended and never changed; reading wrong costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit import canonical
from labkit.learning.chained import Chained
from labkit.learning.katas import Answer, Kata
from labkit.learning.predict import PredictionJournal, Sealed

READINGS = Chained("readings", "reading_id", "reading")


@dataclass(frozen=True, slots=True)
class Reading:
    """One row: what was read after one prediction, by field.  `reading_id` counts from 1 over all katas."""

    reading_id: int
    prediction_id: int
    kata: str
    answers: dict[str, Answer]
    read_at_ms: int


@dataclass(frozen=True, slots=True)
class Unread:
    """Nobody was there to read: the prediction came as a parameter."""

    kata: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Over the first reading after each prediction: fields read, and those read as the rows have it."""

    answers: int
    right: int


def keep(journal: PredictionJournal, sealed: Sealed, answers: Mapping[str, Answer], now_ms: int) -> Reading:
    """Append a reading to the prediction that it follows, in a transaction of its own.

    Raises:
        StoreLocked, StoreUnwritable: nothing was appended.
    """
    row = READINGS.append(
        journal.db,
        {
            "prediction_id": sealed.prediction_id,
            "kata": sealed.kata,
            "answers": canonical.canonical_bytes(dict(answers)).decode(),
            "read_at_ms": now_ms,
        },
    )
    return Reading(row["reading_id"], sealed.prediction_id, sealed.kata, dict(answers), now_ms)


def kept(journal: PredictionJournal) -> list[Reading]:
    """Every reading, oldest first.  Raises: BadStore: a row was changed, removed or put in between."""
    return [_reading(row) for row in READINGS.rows(journal.db)]


def latest(journal: PredictionJournal, kata: Kata, sealed: Sealed) -> Reading | None:
    """The last whole reading after a prediction, in the order of the kata's questions; None before it."""
    names = [field.name for field in kata.fields]
    for one in reversed(kept(journal)):
        if one.prediction_id == sealed.prediction_id and set(one.answers) == set(names):
            answers = {name: one.answers[name] for name in names}
            return Reading(one.reading_id, one.prediction_id, one.kata, answers, one.read_at_ms)
    return None


def summary(readings: Sequence[Reading], observed: Mapping[str, Mapping[str, Answer]]) -> Summary:
    """How much was read right.  Pure; `observed` are the rows' answers by kata and field.

    The first reading after each prediction counts: a later one may have seen the explanation.
    """
    first = {one.prediction_id: one for one in reversed(readings)}
    pairs = [
        (answer, observed[one.kata][name])
        for one in first.values()
        for name, answer in one.answers.items()
        if name in observed.get(one.kata, {})
    ]
    return Summary(len(pairs), sum(type(read) is type(true) and read == true for read, true in pairs))


def _reading(row: Mapping[str, Any]) -> Reading:
    return Reading(
        row["reading_id"], row["prediction_id"], row["kata"], json.loads(row["answers"]), row["read_at_ms"]
    )
