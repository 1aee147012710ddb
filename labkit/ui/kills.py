"""A checked answer, to be killed once more where the learner says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labkit.grading.stage import Stage
from labkit.learning import progress
from labkit.ui import learner, point
from labkit.ui.learner import Swept
from labkit.ui.point import SeenTrial


@dataclass(frozen=True, slots=True)
class Kills:
    """The answer that was checked last, and the workspace that remembers where its kill stood."""

    stage: Stage
    workspace: Path
    swept: Swept

    def trial(self, number: int) -> SeenTrial:
        """The answer killed at one of its crash points, 0 for none, then resumed.

        Raises:
            BadHandler: the answer was edited since.
            BadOption: there is no such point.
            HarnessError: a child could not be started, killed or reaped.
        """
        return SeenTrial(learner.trial(self.stage, self.swept, number), self.stage.boundaries)

    def look(self, number: int) -> SeenTrial:
        """The same, and the workspace remembers the point for this answer.

        Raises:
            BadHandler, BadOption, HarnessError: as `trial`; nothing was kept.
            BadStore, StoreLocked, StoreUnwritable, ReadOnly: the progress store.
        """
        seen = self.trial(number)
        if (digest := self.swept.answer_digest) is not None:
            with progress.progress(self.workspace) as opened:
                opened.put_look(self.stage.kata.slug, progress.Look(digest, number), learner.now_ms())
        return seen

    def stands(self) -> int:
        """The point that was looked at last, if the answer has the same bytes still; else `resting`'s.

        Raises:
            BadStore, StoreLocked, StoreUnwritable, ReadOnly: the progress store.
        """
        with progress.progress(self.workspace) as opened:
            last = opened.look(self.stage.kata.slug)
        sweep = self.swept.sweep
        if last is None or last.answer_digest != self.swept.answer_digest:
            return point.resting(sweep)
        return last.crash_point if last.crash_point <= len(sweep.points) else point.resting(sweep)
