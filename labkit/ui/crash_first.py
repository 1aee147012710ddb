"""The first schedule that does not pass: where the eye should go, and what stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from labkit.observations import PointResult, Sweep
from labkit.ui.crash_outcomes import NOUNS, Outcome
from labkit.ui.crash_view import Mark, bare, source_lines
from labkit.ui.signs import Sign, visible

NEIGHBOURS = 3  # crash points shown on either side of the first wrong one


@dataclass(frozen=True, slots=True)
class FirstWrong:
    """The first schedule that does not pass: where the eye should go."""

    result: PointResult
    fault: str
    around: tuple[Mark, ...]  # the points beside the last crash, with what a last crash there costs
    file: str
    line: int
    source: str

    @property
    def outcome(self) -> Outcome:
        """What it costs."""
        return Outcome((self.result,))


def first_wrong(sweep: Sweep) -> FirstWrong | None:
    """The first failing schedule, or the first that could not be judged; None where all pass."""
    failing = [result for result in sweep.all_results if not result.passed]
    if not failing:
        return None
    judged = [result for result in failing if result.outcome == "judged"]
    result = min(judged or failing, key=lambda one: [point.number for point in one.schedule])
    if not result.schedule:
        return FirstWrong(result, sweep.fault, (), visible(PurePath(sweep.first[0]).name), 0, "")
    last = result.schedule[-1]
    file = sweep.first[0] if len(result.schedule) == 1 else sweep.resume[0]
    lines = source_lines(sweep, file)
    source = visible(lines[last.line - 1]) if 0 < last.line <= len(lines) else ""
    return FirstWrong(
        result, sweep.fault, beside(sweep, result), visible(PurePath(file).name), last.line, source
    )


def here(first: FirstWrong | None) -> tuple[str, int]:
    """The listing's role and the line to look at; line 0 where there is none."""
    if first is None or not first.result.schedule:
        return "", 0
    return "first run" if len(first.result.schedule) == 1 else "recovery", first.line


def beside(sweep: Sweep, result: PointResult) -> tuple[Mark, ...]:
    """The crash points next to a schedule's last one, after the same earlier crashes."""
    *before, last = result.schedule
    alike = [one for one in sweep.results if one.schedule and list(one.schedule[:-1]) == before]
    near = [one for one in alike if abs(one.schedule[-1].number - last.number) <= NEIGHBOURS]
    near.sort(key=lambda one: one.schedule[-1].number)
    return tuple(Mark(one.schedule[-1], (one,)) for one in near)


def where(first: FirstWrong) -> str:
    """Between which two crash points the first wrong crash falls; a lost reply falls on its call."""
    if not first.result.schedule:
        return "without any crash"
    *before, last = first.result.schedule
    what = NOUNS.get(first.fault, visible(first.fault))
    earlier = "".join(f"{what} at {visible(point.label)}, then " for point in before)
    previous = [mark.point for mark in first.around if mark.point.number == last.number - 1]
    after = "".join(f"after {point.number} {bare(point)} and " for point in previous)
    line = f", on line {first.line} of {first.file}" if first.line else ""
    side = "at " if first.fault == "lost_reply" else f"{after}before "
    return f"{earlier}{what} {side}{last.number} {bare(last)}{line}"


def at(first: FirstWrong) -> str:
    """The first wrong crash's own entry in `around`."""
    schedule = first.result.schedule
    return f"{schedule[-1].number} {bare(schedule[-1])}" if schedule else ""


def around(first: FirstWrong) -> list[tuple[Sign, str]]:
    """The crash points beside it, in order, with the worst sign of each."""
    return [(mark.signs[0], f"{mark.point.number} {bare(mark.point)}") for mark in first.around]
