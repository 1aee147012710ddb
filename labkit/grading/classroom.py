"""A class graded: every submission in every kata, one after the other, each judged in a fresh sandbox.

What is done is in the gradebook.  Killed anywhere and run again, the same results come out.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.errors import BadHandler, InfrastructureError
from labkit.grading import engine, foretold, marks, submissions, variants
from labkit.grading.alone import require_alone
from labkit.grading.cells import Found
from labkit.grading.gradebook import Gradebook, fingerprint_of, new_secret
from labkit.grading.marks import Mark
from labkit.grading.sandbox import SandboxedPool
from labkit.grading.stage import Stage, load_stage
from labkit.grading.submissions import Submission
from labkit.harness import sweep_files
from labkit.learning.katas import Kata
from labkit.learning.predict import Prediction
from labkit.observations import Sweep

MOST_TRIES = 2
SUBMISSION_S = 300.0  # of one answer, by the wall clock
NOTHING = "def {function}(world):\n    raise NotImplementedError\n"

Progress = Callable[[str], None]


class TookTooLong(Exception):
    """One answer's sweep has passed its wall time."""


@dataclass(frozen=True, slots=True)
class Row:
    """One learner's results: a mark for each kata, what was foretold, and what is to be said of the hand-in."""

    learner: str
    marks: dict[str, Mark]
    predictions: dict[str, Prediction]
    notes: tuple[str, ...]
    changed: dict[str, Mark] = field(default_factory=dict)  # the mark before this one, by kata

    @property
    def earned(self) -> int:
        """Points in all katas."""
        return sum(mark.earned for mark in self.marks.values())

    @property
    def possible(self) -> int:
        """What could be earned."""
        return sum(mark.possible for mark in self.marks.values())


@dataclass(frozen=True, slots=True)
class ClassResult:
    """A class graded: its rows, the katas in order, and what their runs really showed."""

    rows: tuple[Row, ...]
    katas: tuple[Kata, ...]
    truths: dict[str, dict[str, Any]]
    sandbox: str

    @property
    def infrastructure_failed(self) -> bool:
        """Whether some mark is none because the machine failed."""
        return any(mark.outcome == "infra_error" for row in self.rows for mark in row.marks.values())


class Classroom:
    """The state of one grading run."""

    def __init__(self, book: Gradebook, pool: SandboxedPool, katas: Sequence[Kata]) -> None:
        self.book = book
        self.pool = pool
        self.katas = list(katas)
        self.stages = {kata.slug: load_stage(kata) for kata in katas}
        self.secret = book.setting("secret", new_secret())
        self.digests = {kata.slug: digest_of(kata) for kata in katas}
        self._free: dict[str, frozenset[str]] = {}
        left = book.setting("home", str(pool.home))
        if left != str(pool.home) and Path(left).name.startswith("lab-grade-"):
            shutil.rmtree(left, ignore_errors=True)  # of a run that was killed
        book.put("home", str(pool.home))

    def grade(self, folder: Path, progress: Progress) -> ClassResult:
        """Grade every submission of a folder.  Raises: UnknownName, BadOption: there is none."""
        handed_in = submissions.read_class(folder, self.katas)
        rows = tuple(self.row_of(submission, progress) for submission in handed_in)
        self.book.forget_all_but([row.learner for row in rows])
        truths = {kata.slug: self.truth_of(kata) for kata in self.katas}
        return ClassResult(rows, tuple(self.katas), truths, self.pool.named_level)

    def row_of(self, submission: Submission, progress: Progress) -> Row:
        """One learner, in every kata."""
        predictions, note = foretold.read(submission.predictions, self.katas)
        found: dict[str, Mark] = {}
        changed: dict[str, Mark] = {}
        for kata in self.katas:
            found[kata.slug] = self.mark_of(submission, kata, kata.slug in predictions)
            earlier = self.book.earlier(submission.learner, kata.slug)
            if earlier and earlier[-1] != found[kata.slug]:
                changed[kata.slug] = earlier[-1]
            progress(submission.learner)
        notes = (*submission.notes, *([note] if note else []))
        notes += tuple(f"{slug}: {note}" for slug, one in submission.found.items() for note in one.notes)
        return Row(submission.learner, found, predictions, notes, changed)

    def mark_of(self, submission: Submission, kata: Kata, has_prediction: bool) -> Mark:
        """One learner's mark in one kata: from the gradebook where it is in it, else judged now."""
        learner, found = submission.learner, submission.found[kata.slug]
        variant = variants.variant_of(learner, kata.slug, self.secret)
        fingerprint = fingerprint_of(
            asdict(found), has_prediction, self.digests[kata.slug], asdict(variant), self.pool.named_level
        )
        known = self.book.mark(learner, kata.slug, fingerprint)
        if known is not None:
            return known
        stage = variants.staged(self.stages[kata.slug], variant)
        mark, sweep = self.judged(stage, found, has_prediction)
        mark = replace(mark, sandbox=self.pool.named_level)
        if mark.outcome != "infra_error":
            as_json = sweep_files.to_json(sweep) if sweep is not None else None
            self.book.record((learner, kata.slug), fingerprint, mark, as_json)
        return mark

    def judged(self, stage: Stage, found: Found, has_prediction: bool) -> tuple[Mark, Sweep | None]:
        """Run one answer, and say what became of it whatever it does."""
        kata = stage.kata
        if found.source is None:
            return marks.unrun(kata, found.outcome, found.why, has_prediction), None
        why = ""
        for _ in range(MOST_TRIES):
            try:
                require_alone(found.source, kata.exercise)
                sweep = self.swept(stage, found.source)
                return marks.mark_of(kata, sweep, self.free_of(kata), has_prediction), sweep
            except BadHandler as error:
                return marks.unrun(kata, "malformed", error.message, has_prediction), None
            except TookTooLong:
                limit = f"{SUBMISSION_S:g} s for one answer"
                return marks.unrun(kata, "killed_by_limit", limit, has_prediction), None
            except InfrastructureError as error:
                why = error.message.strip().splitlines()[-1][:200]
        if self.works():
            why = f"the answer broke its own trials, {MOST_TRIES} times, while others ran: {why}"
            return marks.unrun(kata, "tampered", why, has_prediction), None
        return marks.unrun(kata, "infra_error", why, False), None

    def swept(self, stage: Stage, source: str) -> Sweep:
        """The sweep of one answer.  Raises: BadHandler, TookTooLong, InfrastructureError."""
        ends_s = time.monotonic() + SUBMISSION_S

        def watch(_done: int, _total: int) -> None:
            if time.monotonic() > ends_s:
                raise TookTooLong

        with tempfile.TemporaryDirectory(prefix="lab-answer-") as folder:
            answer = Path(folder) / "answers" / f"{stage.kata.slug}.py"
            answer.parent.mkdir()
            answer.write_text(source, encoding="utf-8")
            return engine.grade(stage, answer, pool=self.pool, progress=watch)

    def free_of(self, kata: Kata) -> frozenset[str]:
        """The crash points of a kata at which an answer that does nothing passes."""
        if kata.slug not in self._free:
            name = f"free {kata.slug} {self.digests[kata.slug]}"
            known = json.loads(self.book.setting(name, "null"))
            if known is None:
                sweep = self.swept(self.stages[kata.slug], NOTHING.format(function=kata.exercise))
                known = sorted(marks.free_places(sweep))
                self.book.put(name, json.dumps(known))
            self._free[kata.slug] = frozenset(known)
        return self._free[kata.slug]

    def works(self) -> bool:
        """Whether the infrastructure can run an answer that harms nothing."""
        kata = self.katas[0]
        try:
            self.swept(self.stages[kata.slug], NOTHING.format(function=kata.exercise))
        except InfrastructureError:
            return False
        return True

    def truth_of(self, kata: Kata) -> dict[str, Any]:
        """What the kata's own runs show in each predicted field."""
        name = f"truth {kata.slug} {self.digests[kata.slug]}"
        known = json.loads(self.book.setting(name, "null"))
        if known is None:
            stage = self.stages[kata.slug]
            with tempfile.TemporaryDirectory(prefix="lab-truth-") as folder:
                runs = {run: stage.run(run, Path(folder) / run) for run in stage.runs}
                known = {name: one.value for name, one in stage.observed(runs).items()}
            self.book.put(name, json.dumps(known))
        return dict(known)


def digest_of(kata: Kata) -> str:
    """The digest of what a kata's marks depend on: its files, and labkit's version."""
    digest = hashlib.sha256(__version__.encode())
    for name in ("kata.toml", "scenario.py", "checks.py"):
        digest.update((kata.folder / name).read_bytes())
    return digest.hexdigest()
