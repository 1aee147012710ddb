"""The learner's answer swept, with progress kept; and what their first predictions show."""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from labkit.errors import BadHandler, UnknownName
from labkit.grading import engine
from labkit.grading.stage import Stage
from labkit.harness.sweeps import Progress, quietly
from labkit.learning import calibration, katas, own_files, predict, progress, readings
from labkit.learning.katas import Answer, Kata
from labkit.observations import Sweep, Trial

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Swept:
    """A sweep of an answer, the SHA-256 of the bytes it began with, and whether progress took note of it.

    `is_own` is false for a file that is not the learner's answer: progress takes note of none.
    """

    sweep: Sweep
    answer: Path
    answer_digest: str | None
    kept: bool
    is_own: bool = True


def now_ms() -> int:
    """This machine's clock, milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def new_run_folder(workspace: Path, kata: str, run: str) -> Path:
    """A folder of its own for one run of a kata; they are numbered from 1.

    Raises:
        ReadOnly, StoreUnwritable: it cannot be made.
    """
    base = own_files.make_folder(workspace / "runs" / kata)
    for number in itertools.count(1):
        if own_files.make_new_folder(folder := base / f"{run}-{number}"):
            return folder
    raise AssertionError("unreachable")


def sweep(stage: Stage, answer: Path, workspace: Path, show: Progress = quietly) -> Swept:
    """Kill and resume by an answer at every crash point, and keep whether these bytes passed.

    Nothing is kept of a file that is not the learner's answer, of one that was edited meanwhile, and
    of a sweep in which the machine failed.

    Raises:
        BadHandler: the answer is no Python, lacks the exercise's function, or has no crash point.
        HarnessError: a child could not be started, killed or reaped.
        BadStore, StoreLocked, StoreUnwritable, ReadOnly: the progress store.
    """
    require_function(answer, stage.kata.exercise)
    before = progress.digest_of(answer)
    own = answer.absolute() == progress.answer_place(workspace, stage.kata.slug).absolute()
    if own and (workspace / progress.FILE).exists():
        progress.progress(workspace).db.close()  # a store that cannot be opened is said before the wait
    swept = engine.grade(stage, answer, progress=show)
    if before is None or not own or swept.broke or progress.digest_of(answer) != before:
        return Swept(swept, answer, before, kept=False, is_own=own)
    with progress.progress(workspace) as opened:
        opened.add_check(stage.kata.slug, progress.Check(before, swept.passed), now_ms())
    return Swept(swept, answer, before, kept=True)


def trial(stage: Stage, swept: Swept, number: int) -> Trial:
    """One trial more of an answer that was swept: killed at one of its crash points, 0 for none.

    Raises:
        BadHandler: the answer was edited since, so that its points are no longer those of the sweep.
        BadOption, HarnessError: as a sweep.
    """
    if progress.digest_of(swept.answer) != swept.answer_digest:
        raise BadHandler(f"{swept.answer.name} was edited since it was checked", "check it again")
    return engine.trial(stage, swept.answer, [number] if number else [])


def require_answer(answer: Path, kata: Kata) -> None:
    """Refuse to sweep what is not there, or is no file.  Raises: UnknownName, Conflict."""
    own_files.require_file(answer)
    if not answer.is_file():
        raise UnknownName(
            f"{answer} is not there", f"`lab watch {kata.slug}` writes the exercise, or name another file"
        )


def require_function(answer: Path, name: str) -> None:
    """Refuse what every one of its runs would only stumble over.  Raises: BadHandler."""
    try:
        text = answer.read_bytes().decode()
    except UnicodeDecodeError:
        raise BadHandler(f"{answer.name} is not UTF-8", "save it in that encoding") from None
    if text.startswith("\ufeff"):
        raise BadHandler(f"{answer.name} begins with a byte-order mark", "save it as UTF-8 without one")
    try:
        tree = ast.parse(text, answer.name)
    except SyntaxError as error:
        where = f"{answer.name} line {error.lineno}" if error.lineno else answer.name
        raise BadHandler(f"{where} is no Python ({error.msg})", "mend it and save") from None
    except ValueError as error:  # a null byte
        raise BadHandler(f"{answer.name} is no Python ({error})", "mend it and save") from None
    if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body):
        raise BadHandler(f"{answer.name} has no function `{name}`", "define it, as the exercise does")


def review_of(workspace: Path) -> calibration.Review:
    """What the first predictions of a workspace show.  Nothing is made or changed.

    Raises:
        BadStore: the prediction journal or the progress store is damaged.
    """
    sealed = _from_journal(workspace, lambda journal: journal.all()) or []
    return calibration.review([katas.find(name) for name in katas.names()], sealed, _observed(workspace))


def readings_of(workspace: Path) -> readings.Summary:
    """How much was read right from the rows.  Nothing is made or changed.

    Raises:
        BadStore: the prediction journal or the progress store is damaged.
    """
    kept = _from_journal(workspace, readings.kept) or []
    return readings.summary(kept, _observed(workspace))


def is_unread(kata: Kata, workspace: Path) -> bool:
    """Whether a kata's last prediction waits for what the rows say.  Nothing is made or changed.

    Raises:
        BadStore: the prediction journal is damaged.
    """

    def waits(journal: predict.PredictionJournal) -> bool:
        sealed = journal.latest(kata)
        return sealed is not None and readings.latest(journal, kata, sealed) is None

    return _from_journal(workspace, waits) or False


def _from_journal(workspace: Path, ask: Callable[[predict.PredictionJournal], T]) -> T | None:
    """What the prediction journal answers, None where there is none yet."""
    if not (workspace / predict.FILE).exists():
        return None
    with predict.journal(workspace) as journal:
        return ask(journal)


def _observed(workspace: Path) -> dict[str, dict[str, Answer]]:
    """What the rows gave, by kata and field; empty where nothing ran yet."""
    if not (workspace / progress.FILE).exists():
        return {}
    with progress.progress(workspace) as opened:
        return opened.observed()
