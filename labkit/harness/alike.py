"""Kills that have left the same bytes: what follows on one of them follows on all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.harness.answers import Answer, Points, Schedule, Task

MOST_KEPT_BYTES = 256 * 1024 * 1024  # of one depth's worlds at one time


@dataclass(slots=True)
class Alike:
    """Kills that have left the same bytes: the first of their schedules, what it left, and the others' points.

    `known` are the points of crashes that leave the same, as is known, and were not carried out.
    """

    first: Schedule
    left: dict[str, Any]
    others: list[Points] = field(default_factory=list)
    known: list[Points] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """Of the points that its kills met last."""
        return [met[-1]["number"] for met in (self.left["met"], *self.others)]


@dataclass(slots=True)
class Store:
    """Room for what kills have left, in memory where worlds are in memory.  What is too much is killed for again."""

    kept_bytes: int = 0

    def keep(self, left: dict[str, Any], kill: Task) -> dict[str, Any]:
        """What `kill` has left, with its folder where there is room for it, else with the way to get it again."""
        size = left["size"]
        if self.kept_bytes + size <= MOST_KEPT_BYTES and 8 * size <= shutil.disk_usage(left["folder"]).free:
            self.kept_bytes += size
            return left
        shutil.rmtree(left["folder"], ignore_errors=True)
        return left | {"folder": "", "again": kill[2:]}

    def drop(self, left: dict[str, Any]) -> None:
        """What another has left as well."""
        if left["folder"]:
            self.kept_bytes -= left["size"]
            shutil.rmtree(left["folder"], ignore_errors=True)


def shared(groups: list[Alike], answers: Mapping[Schedule, Answer]) -> dict[Schedule, Answer]:
    """All answers: what followed on the first of a group follows on each of the others."""
    found = dict(answers)
    for group in groups:
        size = len(group.first)
        after = [(schedule, answer) for schedule, answer in answers.items() if schedule[:size] == group.first]
        for met in (*group.others, *group.known):
            begun = tuple(point["number"] for point in met)
            for schedule, answer in after:
                points = [*met, *answer["schedule"][size:]]
                same = {"schedule": points, "same_bytes_as": list(group.first)}
                found[*begun, *schedule[size:]] = answer | same | {"is_killed": met not in group.known}
    return found
