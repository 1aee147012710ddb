"""The series as a table: which katas there are, and how far the learner is with each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labkit.learning import katas, progress
from labkit.learning.katas import Kata
from labkit.learning.progress import Standing


@dataclass(frozen=True, slots=True)
class Row:
    """One kata, the number of predictions sealed for it in a workspace, and how it stands there."""

    kata: Kata
    predictions: int
    standing: Standing


@dataclass(frozen=True, slots=True)
class Series:
    """The katas in order."""

    rows: tuple[Row, ...]


def series_of(workspace: Path) -> Series:
    """The project's katas.  A workspace without a journal is left as it is.

    Raises:
        BadKata: a kata's folder is not whole.
        BadStore: the prediction journal or the progress store is damaged.
    """
    every = [katas.find(name) for name in katas.names()]
    stands = progress.standings(workspace, every)
    return Series(tuple(Row(kata, *stands[kata.slug]) for kata in every))
