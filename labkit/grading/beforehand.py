"""What is found out once for a class and a kata: what a bare starter shows, and what the kata's own runs do."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.grading import marks
from labkit.grading.stage import load_stage
from labkit.harness.known import Known, known_from
from labkit.learning.katas import Kata
from labkit.observations import Sweep


@dataclass(frozen=True, slots=True)
class Bare:
    """What a bare starter shows: `free` are the crash points at which it passes all the same.

    Nobody earns anything there.  `known` says which crashes leave the same bytes.  Where the first run is
    the kata's own worker, that holds for every answer.
    """

    free: frozenset[str] = frozenset()
    known: Known = field(default_factory=dict)

    @classmethod
    def of(cls, nothing: Sweep) -> Bare:
        """From the sweep of an answer that does nothing, in the kata's own world."""
        return cls(marks.free_places(nothing), known_from(nothing))

    @property
    def as_json(self) -> dict[str, Any]:
        """For the gradebook."""
        return {"free": sorted(self.free), "known": self.known}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Bare:
        """From the gradebook."""
        return cls(frozenset(found["free"]), found["known"])


def truth_of(kata: Kata, scratch: Path) -> dict[str, Any]:
    """What the kata's own runs show in each predicted field.

    They lie in `scratch`, which is removed even where this process is killed.  Raises: HarnessError.
    """
    stage = load_stage(kata)
    with tempfile.TemporaryDirectory(prefix="lab-truth-", dir=scratch) as folder:
        runs = {run: stage.run(run, Path(folder) / run) for run in stage.runs}
        return {name: one.value for name, one in stage.observed(runs).items()}
