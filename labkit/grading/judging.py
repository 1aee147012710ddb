"""One answer judged: what is asked and what comes back are plain values, wherever it happens.

`here` is this machine, `grid` a Dask cluster.  Both have processes that judge by the same `Judge`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from labkit.errors import BadHandler, BadKata, HarnessError, InfrastructureError
from labkit.grading import engine, variants
from labkit.grading.account import Allowance
from labkit.grading.alone import require_alone
from labkit.grading.sandbox import SandboxedPool
from labkit.grading.stage import Stage, load_stage
from labkit.grading.variants import Variant
from labkit.harness import sweep_files
from labkit.harness.known import Known
from labkit.learning.katas import Kata
from labkit.observations import Sweep

MOST_TRIES = 2
MOST_TASK_S = MOST_TRIES * Allowance().wall_s + 60.0  # for who judges one answer; longer, and it hangs itself
NOTHING = "def {function}(world):\n    raise NotImplementedError\n"


class PassedAllowance(Exception):
    """The runs of one answer have used more than they may together; the text names the limit."""


@dataclass(frozen=True, slots=True)
class Task:
    """An answer to a kata, to be swept in a learner's variant; None is the kata's own world.

    `known` says of the kata's own worker which crashes leave the same bytes.
    """

    kata: str
    source: str
    variant: Variant | None = None
    known: Known = field(default_factory=dict)

    @property
    def as_json(self) -> dict[str, Any]:
        """For the way to where it is judged."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Task:
        """At the end of that way."""
        variant = found["variant"]
        if variant is not None:
            draws = tuple((first, second) for first, second in variant["draws"])
            variant = Variant(**{**variant, "draws": draws})
        return cls(found["kata"], found["source"], variant, found["known"])


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a task: `judged` with its sweep as JSON, or why there is none."""

    outcome: str
    why: str = ""
    sweep: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> Ran:
        """From a text that another machine has sent.  Raises: HarnessError: it is none of ours."""
        try:
            found = json.loads(text)
            ran = cls(found["outcome"], found["why"], found["sweep"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise HarnessError(
                f"a worker's result is no result ({type(error).__name__})", "run it again"
            ) from None
        if not all(isinstance(text, str) for text in (found["outcome"], found["why"])):
            raise HarnessError("a worker's result is no result", "run it again")
        return ran


class Place(Protocol):
    """Where answers are judged.

    `scratch` is where the grader's throw-away files lie on this machine: the gradebook keeps its name
    before it makes the folder, and whoever opened the place removes it.
    """

    named_level: str
    scratch: Path

    def judge(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ran]]:
        """What becomes of each task, with its number, in the order in which they end."""


class Judge:
    """Judges one answer after the other, in one pool."""

    def __init__(
        self, pool: SandboxedPool, katas: Sequence[Kata], allowance: Allowance | None = None
    ) -> None:
        self.pool = pool
        self.allowance = allowance or Allowance()
        self.stages = {kata.slug: load_stage(kata) for kata in katas}

    def judge(self, task: Task) -> Ran:
        """Run one answer, and say what became of it whatever it does."""
        stage = self.stages[task.kata]
        if task.variant is not None:
            stage = replace(variants.staged(stage, task.variant), known=task.known)
        why = ""
        for _ in range(MOST_TRIES):
            try:
                require_alone(task.source, stage.kata.exercise)
                return Ran("judged", "", self.as_json(self.swept(stage, task.source)))
            except BadHandler as error:
                return Ran("malformed", error.message)
            except BadKata as error:  # the checker's own failure is nobody's score
                return Ran("infra_error", error.message)
            except PassedAllowance as limit:
                return Ran("killed_by_limit", str(limit))
            except InfrastructureError as error:
                why = error.message.strip().splitlines()[-1][:200]
        if self.works(stage):
            return Ran(
                "tampered", f"the answer broke its own trials, {MOST_TRIES} times, while others ran: {why}"
            )
        return Ran("infra_error", why)

    def swept(self, stage: Stage, source: str) -> Sweep:
        """The sweep of one answer.  Raises: BadHandler, PassedAllowance, InfrastructureError."""
        self.pool.account.begin()

        def watch(_done: int, _total: int) -> None:
            if limit := self.pool.account.passed(self.allowance):
                raise PassedAllowance(limit)

        with tempfile.TemporaryDirectory(prefix="lab-answer-", dir=self.pool.home) as folder:
            answer = Path(folder) / "answers" / f"{stage.kata.slug}.py"
            answer.parent.mkdir()
            answer.write_text(source, encoding="utf-8")
            return engine.grade(stage, answer, pool=self.pool, progress=watch)

    def as_json(self, swept: Sweep) -> dict[str, Any]:
        """A sweep without the folders that are made anew for each run: errors quote them, and bytes would differ."""
        anew = rf"{re.escape(str(self.pool.home))}(/cage-\w+(/worlds/\d+)?|/lab-answer-\w+)?"
        return sweep_files.to_json(swept, without=anew)

    def works(self, stage: Stage) -> bool:
        """Whether the infrastructure can run an answer that harms nothing."""
        try:
            self.swept(stage, NOTHING.format(function=stage.kata.exercise))
        except InfrastructureError:
            return False
        return True
