"""Kills that have left the same bytes: what follows on one of them follows on all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.harness.answers import Answer, Points, Schedule


@dataclass(slots=True)
class Alike:
    """Kills that have left the same bytes: the first of their schedules, what it left, and the others' points."""

    first: Schedule
    left: dict[str, Any]
    others: list[Points] = field(default_factory=list)

    def add(self, schedule: Schedule, left: dict[str, Any]) -> None:
        """One more of them.  Only the folder of the first is kept."""
        if schedule < self.first:
            self.first, self.left, left = schedule, left, self.left
        self.others.append(left["met"])
        shutil.rmtree(left["folder"])


def shared(groups: list[Alike], answers: Mapping[Schedule, Answer]) -> dict[Schedule, Answer]:
    """All answers: what followed on the first of a group follows on each of the others."""
    found = dict(answers)
    for group in groups:
        size = len(group.first)
        after = [(schedule, answer) for schedule, answer in answers.items() if schedule[:size] == group.first]
        for met in group.others:
            begun = tuple(point["number"] for point in met)
            for schedule, answer in after:
                points = [*met, *answer["schedule"][size:]]
                same = {"schedule": points, "same_bytes_as": list(group.first)}
                found[*begun, *schedule[size:]] = answer | same
    return found
