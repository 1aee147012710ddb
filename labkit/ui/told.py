"""What a checked answer comes to, in a few lines: each way in which it fell short, and what to do next.

`lab check` and `lab watch` say the same; the whole map is `lab check --map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labkit.observations import PointResult, Sweep
from labkit.ui import sweep_output, unwritten
from labkit.ui.learner import Swept

MOST_WAYS = 3  # of falling short, three lines each
MOST_SAID = 5  # of what the answer's own runs said, one line each


def told(swept: Swept, slug: str) -> list[str]:
    """Each way in which an answer fell short, the count, and what to do next.  Pure."""
    lines = fell_short(swept.sweep)
    if swept.is_own and not swept.kept:
        lines.append(
            "This was not kept: the file was edited meanwhile, or the machine failed. Save it again."
        )
    elif not swept.sweep.passed:
        lines.append(f"Stuck? lab hint {slug}")
    elif swept.is_own:
        lines.append(f"Done: lab read {slug} shows the lesson's end, lab next goes on.")
    return lines


def fell_short(sweep: Sweep) -> list[str]:
    """What is wrong with it, the first crash first, and the count.  Pure."""
    failing = sweep_output.shortfalls(sweep)
    said = list(dict.fromkeys(result.explanation for result in failing if result.explanation))
    lines = ways(failing, sweep)
    if not_written := unwritten.line(sweep):
        return [not_written, *lines, sweep_output.summary(sweep, failing)]
    lines += [f"its runs say: {explanation}" for explanation in said[:MOST_SAID]]
    lines += [f"problem: {problem}" for problem in sweep.problems]
    return [*lines, sweep_output.summary(sweep, failing)]


def ways(failing: Sequence[PointResult], sweep: Sweep) -> list[str]:
    """The verdicts that fell short: how often, where first, by which rows, and how to repeat that one.  Pure.

    Crash points that end alike are one way: a learner looks at one of them, and the map has them all.
    """
    alike: dict[str, list[PointResult]] = {}
    for result in failing:
        alike.setdefault(sweep_output.names_of(result), []).append(result)
    lines = []
    for names, results in list(alike.items())[:MOST_WAYS]:
        first, crashes = results[0], sum(bool(result.schedule) for result in results)
        count = f"{crashes} of {len(sweep.results)} crashes, first at {_where(first, sweep)}"
        lines += [
            f"{names}: {count if first.schedule else 'already without any crash'}",
            f"  {sweep_output.why(first)}",
            f"  {first.command}",
        ]
    if len(alike) > MOST_WAYS:
        lines.append(f"... and {len(alike) - MOST_WAYS} more ways")
    return lines


def _where(result: PointResult, sweep: Sweep) -> str:
    points = [f"point {one.number}: {one.label.removeprefix(f'{one.number} ')}" for one in result.schedule]
    return ", then ".join(points) + f" of {Path(sweep.first[0]).name}"
