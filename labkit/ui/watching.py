"""`lab watch`: looking at a file until it is saved, and one round of checking it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabError
from labkit.grading.stage import Stage
from labkit.learning.progress import digest_of
from labkit.observations import PointResult, Sweep
from labkit.ui import learner, sweep_output
from labkit.ui.output import print_line

MOST_SAID = 5  # of what the answer's own runs said, one line each


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
    return Round(tuple(told(swept, stage.kata.slug)), swept.kept and swept.sweep.passed)


def show(round_: Round) -> None:
    """Print a round at once, also where the output is a pipe."""
    for line in ("", *round_.lines):
        print_line(line)
    sys.stdout.flush()


def told(swept: learner.Swept, slug: str) -> list[str]:
    """What a round says: each way in which it fell short, the count, and what to do next.  Pure."""
    failing = sweep_output.shortfalls(swept.sweep)
    told = ways(failing, swept.sweep)
    said = dict.fromkeys(result.explanation for result in failing if result.explanation)
    told += [f"its runs say: {explanation}" for explanation in list(said)[:MOST_SAID]]
    told += [f"problem: {problem}" for problem in swept.sweep.problems]
    told.append(sweep_output.summary(swept.sweep, failing))
    if not swept.kept:
        told.append("This was not kept: the file was edited meanwhile, or the machine failed. Save it again.")
    elif swept.sweep.passed:
        told.append(f"Done: lab next goes on, lab check {slug} shows the crash map.")
    else:
        told.append(f"Stuck? lab hint {slug}")
    return told


def ways(failing: Sequence[PointResult], sweep: Sweep) -> list[str]:
    """The verdicts that fell short: how often, where first, by which rows, and how to repeat that one.  Pure.

    Crash points that end alike are one way: a learner looks at one of them, and the map has them all.
    """
    alike: dict[str, list[PointResult]] = {}
    for result in failing:
        alike.setdefault(", ".join(result.names), []).append(result)
    lines = []
    for names, results in alike.items():
        first, crashes = results[0], sum(bool(result.schedule) for result in results)
        where = sweep_output.labels_of(first) + f" of {Path(sweep.first[0]).name}"
        lines += [
            f"{names}: {crashes} of {len(sweep.results)} crashes, "
            + (f"first at {where}" if first.schedule else "and the run without any"),
            f"  {sweep_output.why(first)}",
            f"  {first.command}",
        ]
    return lines
