"""What the learner has said about one kata: the last prediction, and what was read from the rows after it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import NotSealed
from labkit.learning import predict, readings
from labkit.learning.katas import Kata
from labkit.learning.predict import Prediction, Sealed
from labkit.learning.readings import Reading


@dataclass(frozen=True, slots=True)
class Record:
    """One kata's part of the journal in `workspace`; every call opens the file and closes it again."""

    kata: Kata
    workspace: Path

    def seal(self, prediction: Prediction) -> Sealed:
        """The prediction's row: a new one, unless the last one says the same.

        Raises:
            BadStore, ReadOnly, StoreLocked, StoreUnwritable: the journal; nothing was sealed.
        """
        with predict.journal(self.workspace) as journal:
            latest = journal.latest(self.kata)
            if latest is not None and latest.prediction == prediction:
                return latest  # the cell was run again, nothing new was said
            return journal.seal(self.kata, prediction, _now_ms())

    def sealed(self, what: str, cure: str) -> Sealed:
        """The last prediction.  Raises: NotSealed: there is none, or the kata asks for more by now."""
        latest = self.latest()
        if latest is None:
            raise NotSealed(what, cure)
        if len(latest.prediction.answers) != len(self.kata.fields):
            raise NotSealed(f"{self.kata.slug} asks for more than was predicted", "predict again")
        return latest

    def latest(self) -> Sealed | None:
        """The last prediction, None before it; also one of fewer fields than the kata has by now."""
        with predict.journal(self.workspace) as journal:
            return journal.latest(self.kata)

    def earlier(self) -> int:
        """How many predictions were sealed for the kata before the last one."""
        with predict.journal(self.workspace) as journal:
            return len(journal.all(self.kata.slug)) - 1

    def keep(self, sealed: Sealed, given: dict[str, Any]) -> Reading:
        """The reading's row: a new one, unless the last one after this prediction says the same.

        Raises:
            BadPrediction: it is not whole, or answers what was not asked.
            BadStore, ReadOnly, StoreLocked, StoreUnwritable: the journal; nothing was kept.
        """
        answers = predict.whole_answers(self.kata, given)
        with predict.journal(self.workspace) as journal:
            latest = readings.latest(journal, self.kata, sealed)
            if latest is not None and latest.answers == answers:
                return latest
            return readings.keep(journal, sealed, answers, _now_ms())

    def reading(self, sealed: Sealed) -> Reading | None:
        """What was read after a prediction, None before it."""
        with predict.journal(self.workspace) as journal:
            return readings.latest(journal, self.kata, sealed)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
