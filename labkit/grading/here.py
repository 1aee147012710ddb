"""Grading on this machine: as many processes as there are jobs, each judging one answer after the other.

Nothing is shared between two answers, so a class keeps every core at work, and its gradebook is written
meanwhile.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.errors import Conflict
from labkit.grading import confinement, judge_process
from labkit.grading.confinement import Level
from labkit.grading.judging import MOST_TASK_S, Ran, Task
from labkit.grading.stage import load_stage
from labkit.harness.folders import unused_name
from labkit.harness.pool import Pool
from labkit.learning.katas import Kata


class Judges(Pool):
    """Processes that judge.  An answer at which they die, or hang, has no score; the others have theirs."""

    module = judge_process.__name__
    most_task_s = MOST_TASK_S

    def given_up(self, _task: tuple[Any, ...], deaths: int) -> dict[str, Any]:
        """What stands for the answer."""
        why = f"the process that judges has died at it, {deaths} times"
        return {"answer": json.dumps(asdict(Ran("infra_error", why)))}


class Here:
    """This machine.  All throw-away files lie in `scratch`, which is made by who keeps its name."""

    def __init__(self, judges: Judges, level: Level, katas: Sequence[Kata], scratch: Path) -> None:
        self.judges = judges
        self.level = level
        self.katas = {kata.slug: kata for kata in katas}
        self.scratch = scratch
        self.named_level = confinement.named(level)

    def judge(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ran]]:
        """What becomes of each task, in the order in which they end.

        Raises:
            Conflict: a kata's files were changed meanwhile.
        """
        asked = [("judge", self._request(task)) for task in tasks]
        for number, text in self.judges.run(asked):
            ran = Ran.from_json(text)
            if ran.outcome == "refused":
                raise Conflict(
                    f"{tasks[number].kata} was changed while it was graded: {ran.why}", "run it again"
                )
            yield number, ran

    def _request(self, task: Task) -> dict[str, Any]:
        kata, scratch = self.katas[task.kata], str(self.scratch)
        return judge_process.request(task, kata, self.level, self.named_level, scratch)


@contextmanager
def here(level: Level, jobs: int | None, katas: Sequence[Kata], answers: int = 1) -> Iterator[Here]:
    """This machine, with as many processes as it has cores or as are wanted, of use to so many answers.

    Where all answers run as this very user they are judged one after the other: one could end another.

    Raises:
        BadKata: one of the katas cannot be put on the stage.
    """
    for kata in katas:
        load_stage(kata)
    scratch = unused_name("lab-grade-")
    try:
        with Judges(1 if confinement.shares_user(level) else jobs) as judges:
            judges.start(answers)
            yield Here(judges, level, katas, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
