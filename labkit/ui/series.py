"""The series as a table: which katas there are, and which of them the learner has predicted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labkit.learning import katas, predict
from labkit.learning.katas import Kata


@dataclass(frozen=True, slots=True)
class Series:
    """The katas in order, each with the number of predictions sealed for it in a workspace."""

    rows: tuple[tuple[Kata, int], ...]


def series_of(workspace: Path) -> Series:
    """The project's katas.  A workspace without a journal is left as it is.

    Raises:
        BadKata: a kata's folder is not whole.
        BadStore: the prediction journal is damaged.
    """
    sealed: list[str] = []
    if (workspace / predict.FILE).exists():
        with predict.journal(workspace) as journal:
            sealed = [one.kata for one in journal.all()]
    return Series(tuple((kata, sealed.count(kata.slug)) for kata in map(katas.find, katas.names())))
