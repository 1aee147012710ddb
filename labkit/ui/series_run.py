"""One kata after the other, executed and judged by what its notebook leaves behind."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from labkit.learning.katas import Kata
from labkit.ui import editions, running


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one kata.  `checked` and `swept` are what its checks left, None where they did not run."""

    slug: str
    title: str
    notebook: NotebookNode
    checked: dict[str, Any] | None
    swept: dict[str, Any] | None
    problem: str
    elapsed_s: float

    @property
    def passed(self) -> bool:
        """Whether it ran to its end, its contract held, and the solution passed.  Wrong predictions cost nothing."""
        ran = not self.problem and self.checked is not None and self.swept is not None
        return ran and bool(
            self.checked and self.checked["contract_held"] and self.swept and self.swept["passed"]
        )

    @property
    def row(self) -> tuple[object, ...]:
        """A table's row; it gives no answer away."""
        predicted = (
            f"{self.checked['right']} right, {self.checked['asked'] - self.checked['right']} wrong"
            if self.checked
            else "not checked"
        )
        contract = _word(self.checked and self.checked["contract_held"], "held", "broken")
        exercise = _word(self.swept and self.swept["passed"], "pass", "fail")
        return (self.slug, predicted, contract, exercise, f"{self.elapsed_s:.1f}")

    @property
    def revealed(self) -> list[tuple[object, ...]]:
        """What was predicted and observed, field by field."""
        answers = self.checked["answers"] if self.checked else []
        return [(self.slug, one["field"], one["predicted"], one["observed"]) for one in answers]

    def as_json(self, reveal: bool) -> dict[str, Any]:
        """The same for programs; values only where they are to be revealed."""
        checked = self.checked or {}
        counts = {name: checked.get(name) for name in ("right", "asked", "contract_held")}
        found = {
            "kata": self.slug,
            **counts,
            "exercise_passed": self.swept and self.swept["passed"],
            "passed": self.passed,
        }
        found |= {"problem": self.problem, "elapsed_s": round(self.elapsed_s, 3)}
        return found | ({"answers": checked.get("answers", [])} if reveal else {})


def _word(value: bool | dict[str, Any] | None, yes: str, no: str) -> str:
    return "not checked" if value is None else yes if value else no


def run_one(kata: Kata, out: Path) -> Outcome:
    """Execute one kata's lesson with the author's predictions; leaves the executed notebook in `out`.

    Raises:
        BadKata: the lesson is not one.
        HarnessError: no kernel could be started.
    """
    started_s = time.monotonic()
    executed = running.execute(editions.lesson(kata), kata.author, kata.folder)
    notebook = editions.finished(executed.notebook, kata)
    (out / f"{kata.slug}.ipynb").write_text(editions.to_text(notebook), encoding="utf-8")
    checked, swept = executed.results("checked"), executed.results("swept")
    problem = executed.problem or (
        "" if len(checked) == len(swept) == 1 else "its checks left no single result"
    )
    return Outcome(
        slug=kata.slug,
        title=kata.title,
        notebook=notebook,
        checked=checked[0] if checked else None,
        swept=swept[0] if swept else None,
        problem=problem,
        elapsed_s=time.monotonic() - started_s,
    )
