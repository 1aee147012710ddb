"""Which crashes of a worker leave the same bytes, known from a sweep of it in another world.

The first run of an exercise may be a kata's own worker, the same for every answer.  Values of a world change
nothing in the way it goes.  So once it was killed at each of its points in one world, it is killed in
another one at the first and at the last point of each group that left the same bytes there.  What these two
leave must be the same here as well; else nothing is taken for known, and it is killed at each point again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.harness.alike import Alike
from labkit.harness.answers import Points
from labkit.observations import Sweep

Known = dict[str, Any]  # plain JSON: `labels` of all points in order, `groups` of the numbers of some


def known_from(sweep: Sweep) -> Known:
    """What a sweep at depth 1 has shown, where each of its crashes could be judged; else nothing."""
    alone = [result for result in sweep.results if len(result.schedule) == 1]
    if any(result.outcome != "judged" or not result.is_killed for result in alone):
        return {}
    groups: dict[int, list[int]] = {}
    for result in alone:
        number = result.schedule[0].number
        [first] = result.same_bytes_as or (number,)
        groups.setdefault(first, []).append(number)
    return {"labels": [point.label for point in sweep.points], "groups": list(groups.values())}


def between(known: Known, points: Points) -> dict[int, list[Points]]:
    """The points inside each group, by the number of its first; none for a worker that went another way."""
    if not known or known["labels"] != [point["label"] for point in points]:
        return {}
    by_number = {point["number"]: point for point in points}
    return {group[0]: [[by_number[number]] for number in group[1:-1]] for group in known["groups"]}


def holds(known: Known, groups: Sequence[Alike]) -> bool:
    """Whether both ends of each known group have left the same bytes here."""
    here = [set(group.numbers) for group in groups]
    return all(any({group[0], group[-1]} <= numbers for numbers in here) for group in known["groups"])
