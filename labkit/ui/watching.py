"""`lab watch`: looking at a file until it is saved, and one round of checking it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabError
from labkit.grading.stage import Stage
from labkit.learning.progress import digest_of
from labkit.ui import learner
from labkit.ui.output import print_line
from labkit.ui.told import told


def saves(path: Path, every_s: float) -> Iterator[str]:
    """The SHA-256 of a file's bytes whenever they are others than the last ones given; the first at once.

    Editors empty a file and then fill it, or put another in its place: bytes count once two looks in a
    row have found them.  A file that is away is waited for.
    """
    given: str | None = None
    before = digest_of(path)
    while True:
        now = digest_of(path)
        if is_settled(now, before, given):
            assert now is not None
            given = now
            yield now
        else:
            time.sleep(every_s)
        before = now


def is_settled(now: str | None, before: str | None, given: str | None) -> bool:
    """Whether what lies there is whole and new.  Pure."""
    return now is not None and now == before and now != given


@dataclass(frozen=True, slots=True)
class Round:
    """What one check of the answer came to: its lines, and whether it passed."""

    lines: tuple[str, ...]
    passed: bool


def checked(stage: Stage, answer: Path, workspace: Path) -> Round:
    """One round: sweep the answer and put in a few lines what came of it.

    A file that cannot be swept, or a machine that fails, is a line too: the next save is a new round.
    """
    try:
        swept = learner.sweep(stage, answer, workspace)
    except LabError as error:
        return Round((f"not checked: {error}",), False)
    lines = told(swept, stage.kata.slug)
    return Round(tuple(lines), swept.kept and swept.sweep.passed)


def show(round_: Round) -> None:
    """Print a round at once, also where the output is a pipe."""
    for line in ("", *round_.lines):
        print_line(line)
    sys.stdout.flush()
