"""The story of one trial of an exercise: the first run laid out along its numbered crash points.

Pure.  The place of each crash point comes from the fault-free run and is the same wherever the kill
falls, so that a slider moves nothing but the kill and what it costs.  What is durable comes from the
rows; where along the run it became so, from the COMMIT before the kill that made it so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.boundaries import Boundary
from labkit.observations import CrashPoint, Trial
from labkit.ui import story
from labkit.ui.crash_view import bare
from labkit.ui.story import WORKER, Cut, Mark, Story
from labkit.ui.story_facts import JOURNAL, RUN_MS, Fact, MarkKind, facts_of_run

WIDTH = 3.0  # columns of a first run, its numbered boundaries aside
WIDEST = 0.12  # columns of one crash point
AT_BOUNDARY = 0.42  # columns of a numbered boundary: its number, and room for a kill just after it
KILLED_AFTER = 0.24  # columns from a boundary's number to a kill there
BEFORE_LOOK, AFTER_LOOK = (
    1.05,
    0.75,
)  # columns from the first run's end to a look at the stores, and from it on
BETWEEN_RUNS, IDLE = 1.2, 0.6


@dataclass(frozen=True, slots=True)
class Layout:
    """Where along the first run each crash point lies, by number from 1, and which boundary it is (0: none)."""

    points: tuple[CrashPoint, ...]
    slots: tuple[float, ...]
    numbers: tuple[int, ...]
    end: float

    def at(self, number: int) -> float:
        """The column of a crash point."""
        return self.slots[number - 1]

    def kill_at(self, number: int) -> float:
        """The column of a kill there: on the point, and just after a boundary's number."""
        return self.at(number) + (KILLED_AFTER if self.numbers[number - 1] else 0)


def tell(trial: Trial, boundaries: tuple[Boundary, ...]) -> Story:
    """The story of a trial that was seen, with the numbered boundaries of its kata."""
    seen = trial.observation
    assert seen is not None
    assert seen.interruption is not None
    ledgers = tuple(name for name in seen.final if "effects" in seen.final[name])
    layout = laid_out(trial.points, boundaries)
    at = trial.result.schedule[0].number if trial.result.schedule else 0
    marks = _first_run(trial, layout, ledgers, boundaries)
    slot = layout.end + BEFORE_LOOK
    cuts = [Cut(slot, story.first_look(bool(at)), story.counts(seen.interruption, ledgers))]
    for name in seen.interventions:
        slot += 1
        marks.append(Mark(slot, story.BETWEEN.get(name, ledgers[0]), "between", name.replace("_", " ")))
    for number in range(2, len(seen.runs) + 1):
        told = story.run_told(seen, number, ledgers, boundaries)
        told[-1] = replace(told[-1], label=_killed(trial, number) or told[-1].label)
        if number > 2 and len(told) == 2:  # one more resume, that changed nothing
            told = [replace(told[0], label="again"), replace(told[1], slot=IDLE)]
        slot += AFTER_LOOK if number == 2 else BETWEEN_RUNS
        marks += story.moved(told, slot)
        slot += max(mark.slot for mark in told)
    slot += BEFORE_LOOK
    cuts.append(Cut(slot, "at the end", story.counts(seen.final, ledgers)))
    return Story(
        story.lanes_of(seen, ledgers), tuple(marks), tuple(cuts), boundaries, slot + 0.5, layout.slots
    )


def laid_out(points: tuple[CrashPoint, ...], boundaries: tuple[Boundary, ...]) -> Layout:
    """A place for every crash point; boundaries are numbered as the kata numbers them, in their order."""
    numbers, reached = [], 0
    for point in points:
        later = [n for n, one in enumerate(boundaries, 1) if n > reached and one == bare(point)]
        reached = later[0] if later and point.kind == "boundary" else reached
        numbers.append(reached if later and point.kind == "boundary" else 0)
    width = min(WIDEST, WIDTH / max(1, numbers.count(0)))
    slots, slot = [], 0.0
    for number in numbers:
        wide = AT_BOUNDARY if number else width
        slots.append(slot + (AT_BOUNDARY - KILLED_AFTER - 0.06 if number else width / 2))
        slot += wide
    return Layout(points, tuple(slots), tuple(numbers), max(slot, 1.0))


def _first_run(
    trial: Trial, layout: Layout, ledgers: tuple[str, ...], boundaries: tuple[Boundary, ...]
) -> list[Mark]:
    seen = trial.observation
    at = trial.result.schedule[0].number if trial.result.schedule else 0
    assert seen is not None
    assert seen.interruption is not None
    marks = [Mark(0, WORKER, "start", "first run")]
    for point, number in zip(layout.points, layout.numbers, strict=True):
        if number:
            kind: MarkKind = "ahead" if at and point.number > at else "boundary"
            marks.append(Mark(layout.at(point.number), WORKER, kind, bare(point), number))
    facts = facts_of_run(seen.interruption, ledgers, RUN_MS)
    before = [point for point in layout.points if not at or point.number < at]
    for fact, number in zip(facts, _commits_of(facts, before), strict=True):
        marks.append(Mark(layout.at(number) if number else 0, *fact))
    marks += _proven(marks, layout, boundaries)
    if at:
        marks += _undone(trial, layout, ledgers, at)
    if killed := _killed(trial, 1):
        marks.append(Mark(layout.kill_at(at), WORKER, "kill", killed))
    else:
        marks.append(story.end(seen.runs[0], layout.end))
    return sorted(marks, key=lambda mark: mark.slot)  # stable: a start stays first, an end last


def _proven(marks: Sequence[Mark], layout: Layout, boundaries: tuple[Boundary, ...]) -> list[Mark]:
    """The boundaries of checkpoints that the handler does not announce: their rows prove them."""
    numbers = [number for number, one in enumerate(boundaries, 1) if one == Boundary.CHECKPOINTED]
    proven = [mark for mark in marks if mark.kind == "checkpoint"]
    return [
        Mark(mark.slot + KILLED_AFTER / 2, WORKER, "boundary", Boundary.CHECKPOINTED, number)
        for mark, number in zip(proven, numbers, strict=False)
        if number not in layout.numbers
    ]


def _killed(trial: Trial, run_number: int) -> str:
    """How a run was killed, if it was: `SIGKILL`, and before or at which crash point."""
    if run_number > len(trial.result.schedule):
        return ""
    point = trial.result.schedule[run_number - 1]
    side = "at" if point.kind == "boundary" else "before"
    return f"SIGKILL\n{side} {point.number} {bare(point)}"


def _commits_of(facts: Sequence[Fact], points: Sequence[CrashPoint]) -> list[int]:
    """For each fact the number of the COMMIT that made it durable; 0 where the run shows none.

    An effect's is the one before its announcement, else the one after its insert.  A checkpoint follows
    its effect; whatever else there is takes the commits that are left, in order.
    """
    commits = [point.number for point in points if bare(point) == "COMMIT"]
    told = [point.number for point in points if bare(point) == Boundary.EFFECT_COMMITTED]
    of_effects = [max([number for number in commits if number < one], default=0) for one in told]
    if not told:  # whoever writes the provider's side announces no commit: it is the next after the insert
        inserted = [point.number for point in points if bare(point) == Boundary.EFFECT_INSERTED]
        of_effects = [min([number for number in commits if number > one], default=0) for one in inserted]
    free = [number for number in commits if number not in of_effects]
    found, effects, checkpoints = [], iter(of_effects), iter(of_effects)
    for _, kind, _ in facts:
        if kind == "effect":
            number = next(effects, 0)
        else:
            after = next(checkpoints, 0) if kind == "checkpoint" else 0
            number = next((one for one in free if one > after), 0)
        free = [one for one in free if one != number]
        found.append(number or max(commits, default=0))
    return found


def _undone(trial: Trial, layout: Layout, ledgers: tuple[str, ...], at: int) -> list[Mark]:
    """What stood in a transaction that the kill undid: an effect, or something in the journal."""
    begun = 0
    for point in layout.points[: at - 1]:
        word = bare(point)
        begun = point.number if word == "BEGIN" else 0 if word in ("COMMIT", "ROLLBACK") else begun
    if not begun:
        return []
    inside = layout.points[begun : at - 1]
    passed = layout.points[:at]
    inserted = [point for point in passed if bare(point) == Boundary.EFFECT_INSERTED]
    if inserted and inserted[-1].number > begun:
        owner = ledgers[min(len(inserted), len(ledgers)) - 1]  # the n-th effect is the n-th owner's
        return [Mark(layout.at(inserted[-1].number), owner, "undone", "inserted, never committed")]
    written = [point for point in inside if bare(point) in ("INSERT", "UPDATE")]
    if written and re.search(r"\bjournal\b", _source_line(trial, layout.points[begun - 1].line)):
        return [Mark(layout.at(written[0].number), JOURNAL, "undone", "written, never committed")]
    return []


def _source_line(trial: Trial, line: int) -> str:
    lines = trial.source.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""
