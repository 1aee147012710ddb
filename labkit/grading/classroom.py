"""A class graded: every submission in every kata, one after the other, each judged in a fresh sandbox.

What is done is in the gradebook.  Killed anywhere and run again, the same results come out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit.grading import foretold, grounds, marks, submissions, variants
from labkit.grading.beforehand import Bare, truth_of
from labkit.grading.cells import Found
from labkit.grading.gradebook import Gradebook, fingerprint_of, new_secret
from labkit.grading.judging import NOTHING, Place, Ran, Task
from labkit.grading.marks import Mark
from labkit.grading.submissions import Submission
from labkit.grading.variants import Variant
from labkit.harness import sweep_files
from labkit.learning.katas import Kata
from labkit.learning.predict import Prediction

Progress = Callable[[str], None]


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


@dataclass(frozen=True, slots=True)
class Waiting:
    """One answer that has no mark yet, with all that its mark depends on."""

    learner: str
    kata: Kata
    found: Found
    has_prediction: bool
    variant: Variant
    fingerprint: str


class Classroom:
    """The state of one grading run: the only writer of its gradebook, wherever the answers are judged."""

    def __init__(self, book: Gradebook, place: Place, katas: Sequence[Kata]) -> None:
        self.book = book
        self.place = place
        self.katas = list(katas)
        self.secret = book.setting("secret", new_secret())
        self.digests = {kata.slug: grounds.digest_of(kata) for kata in katas}
        self._bare: dict[str, Bare] = {}
        self._unscored: dict[tuple[str, str], Mark] = {}
        book.claim_scratch(place.scratch)

    def grade(self, folder: Path, progress: Progress) -> ClassResult:
        """Grade every submission of a folder.

        Raises:
            UnknownName, BadOption: there is none.
            HarnessError: the place where answers are judged is gone; what was graded stands in the book.
        """
        handed_in = submissions.read_class(folder, self.katas)
        foreseen = {one.learner: foretold.read(one.predictions, self.katas) for one in handed_in}
        everything = [
            self.waiting(one, kata, kata.slug in foreseen[one.learner][0])
            for one in handed_in
            for kata in self.katas
        ]
        unknown = [kata for kata in self.katas if not self.knows(kata)]
        beside = ThreadPoolExecutor(1)  # a class waits for its answers, not for the katas' own runs
        try:
            shown = {kata.slug: beside.submit(truth_of, kata, self.place.scratch) for kata in unknown}
            self.judge(everything, progress)
            for kata in unknown:
                self.book.put(self.truth_name(kata), json.dumps(shown[kata.slug].result()))
        finally:
            beside.shutdown(cancel_futures=True)  # interrupted, it ends with the kata that it is at
        found = {(one.learner, one.kata.slug): self.mark_of(one) for one in everything}
        rows = tuple(self.row_of(one, found, *foreseen[one.learner]) for one in handed_in)
        self.book.forget_all_but([row.learner for row in rows])
        truths = {
            kata.slug: json.loads(self.book.setting(self.truth_name(kata), "null")) for kata in self.katas
        }
        return ClassResult(rows, tuple(self.katas), truths, self.place.named_level)

    def waiting(self, submission: Submission, kata: Kata, has_prediction: bool) -> Waiting:
        """One answer, and the fingerprint of everything that its mark depends on."""
        learner, found = submission.learner, submission.found[kata.slug]
        variant = variants.variant_of(learner, kata.slug, self.secret)
        fingerprint = fingerprint_of(
            asdict(found), has_prediction, self.digests[kata.slug], asdict(variant), self.place.named_level
        )
        return Waiting(learner, kata, found, has_prediction, variant, fingerprint)

    def judge(self, everything: Sequence[Waiting], progress: Progress) -> None:
        """See to it that every answer has its mark in the book, or that it is known why it has no score."""
        to_run = []
        for one in everything:
            if self.book.mark(one.learner, one.kata.slug, one.fingerprint) is None:
                if one.found.source is not None:
                    to_run.append(one)
                    continue
                self.record(one, marks.unrun(one.kata, one.found.outcome, one.found.why, one.has_prediction))
            progress(one.learner)
        self.run_bare({one.kata.slug: one.kata for one in to_run})
        tasks = [
            Task(slug, one.found.source or "", one.variant, self._bare.get(slug, Bare()).known)
            for one in to_run
            for slug in [one.kata.slug]
        ]
        for number, ran in self.place.judge(tasks):
            self.record(to_run[number], *self.marked(to_run[number], ran))
            progress(to_run[number].learner)

    def marked(self, one: Waiting, ran: Ran) -> tuple[Mark, dict[str, Any] | None]:
        """The mark that a result comes to, with the sweep behind it."""
        if ran.outcome == "infra_error" or one.kata.slug not in self._bare:
            why = ran.why or "the kata itself could not be run"
            return marks.unrun(one.kata, "infra_error", why, False), None
        if ran.sweep is None:
            return marks.unrun(one.kata, ran.outcome, ran.why, one.has_prediction), None
        sweep = sweep_files.from_json(ran.sweep)
        free = self._bare[one.kata.slug].free
        return marks.mark_of(one.kata, sweep, free, one.has_prediction), ran.sweep

    def record(self, one: Waiting, mark: Mark, sweep: dict[str, Any] | None = None) -> None:
        """Put a mark into the book; what is no score is left to the next run."""
        mark = replace(mark, sandbox=self.place.named_level)
        if mark.outcome == "infra_error":
            self._unscored[one.learner, one.kata.slug] = mark
        else:
            self.book.record((one.learner, one.kata.slug), one.fingerprint, mark, sweep)

    def mark_of(self, one: Waiting) -> Mark:
        """The mark of an answer that was seen to."""
        known = self.book.mark(one.learner, one.kata.slug, one.fingerprint)
        return known or self._unscored[one.learner, one.kata.slug]

    def row_of(
        self, submission: Submission, found: dict[tuple[str, str], Mark], predictions: dict[str, Prediction],
        note: str,
    ) -> Row:  # fmt: skip
        """One learner, in every kata."""
        learner = submission.learner
        mine = {kata.slug: found[learner, kata.slug] for kata in self.katas}
        changed = {}
        for slug, mark in mine.items():
            earlier = self.book.earlier(learner, slug)
            if earlier and earlier[-1] != mark:
                changed[slug] = earlier[-1]
        notes = (*submission.notes, *([note] if note else []))
        notes += tuple(f"{slug}: {note}" for slug, one in submission.found.items() for note in one.notes)
        return Row(learner, mine, predictions, notes, changed)

    def run_bare(self, katas: dict[str, Kata]) -> None:
        """Run each kata's bare starter; of a kata that fails nothing is known."""
        names = {slug: f"bare {slug} {self.digests[slug]}" for slug in katas}
        found = {slug: json.loads(self.book.setting(name, "null")) for slug, name in names.items()}
        asked = [slug for slug, bare in found.items() if bare is None]
        tasks = [Task(slug, NOTHING.format(function=katas[slug].exercise)) for slug in asked]
        for number, ran in self.place.judge(tasks):
            swept = None if ran.sweep is None else sweep_files.from_json(ran.sweep)
            # A run that could not be judged was disturbed: kept, it would change everybody's marks for good.
            if swept is not None and all(one.outcome == "judged" for one in swept.all_results):
                slug = asked[number]
                found[slug] = Bare.of(swept).as_json
                self.book.put(names[slug], json.dumps(found[slug]))
        self._bare |= {slug: Bare.from_json(bare) for slug, bare in found.items() if bare is not None}

    def truth_name(self, kata: Kata) -> str:
        """Under what the book keeps what the kata's own runs show."""
        return f"truth {kata.slug} {self.digests[kata.slug]}"

    def knows(self, kata: Kata) -> bool:
        """Whether the book has it already."""
        return self.book.setting(self.truth_name(kata), "null") != "null"
