"""What a crash map shows, as plain values: a sweep's results laid out on its handlers' source.

Every picture and every text is drawn from these, so that they cannot tell different stories.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath

from labkit.observations import CrashPoint, PointResult, Sweep
from labkit.ui.signs import TONES, Sign, Tone, signs_of, visible, worst_first


@dataclass(frozen=True, slots=True)
class Mark:
    """One crash point, and every schedule that crashes there."""

    point: CrashPoint
    results: tuple[PointResult, ...]

    @property
    def signs(self) -> tuple[Sign, ...]:
        """How the schedules end, the worst first."""
        return worst_first({sign for result in self.results for sign in signs_of(result)})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Crash points of one line, in order, that all end alike."""

    marks: tuple[Mark, ...]

    @property
    def signs(self) -> tuple[Sign, ...]:
        """How they all end, the worst first."""
        return self.marks[0].signs

    @property
    def tone(self) -> Tone:
        """The tone of the worst."""
        return self.signs[0].tone

    @property
    def results(self) -> tuple[PointResult, ...]:
        """Every schedule through these points."""
        return tuple(result for mark in self.marks for result in mark.results)

    @property
    def look(self) -> str:
        """The tone of the worst; `mixed` where some schedules fail and others pass."""
        return "mixed" if self.tone == "fail" and self.signs[-1].tone != "fail" else self.tone

    @property
    def numbers(self) -> str:
        """`5-20` or `22-23, 31-32`."""
        return ranges([mark.point.number for mark in self.marks])

    @property
    def label(self) -> str:
        """The numbers, and what a single point is: `21 effect.committed`."""
        point = self.marks[0].point
        named = len(self.marks) == 1 and point.kind != "line"
        return f"{self.numbers} {bare(point)}" if named else self.numbers


@dataclass(frozen=True, slots=True)
class Row:
    """One line of source with what a crash costs there; line 0 is outside the handler's file."""

    line: int
    text: str
    stretches: tuple[Stretch, ...]
    follows_gap: bool = False

    @property
    def tone(self) -> Tone | None:
        """The worst tone on this line; None where no crash point lies on it."""
        tones = {stretch.tone for stretch in self.stretches}
        return next((tone for tone in TONES if tone in tones), None)

    @property
    def look(self) -> str | None:
        """The worst tone; `mixed` where every failing point passes in other schedules."""
        looks = {stretch.look for stretch in self.stretches}
        return "mixed" if "mixed" in looks and "fail" not in looks else self.tone

    @property
    def results(self) -> tuple[PointResult, ...]:
        """Every schedule that crashes on this line."""
        return tuple(result for stretch in self.stretches for result in stretch.results)


@dataclass(frozen=True, slots=True)
class Listing:
    """The lines of one worker that matter.  `role` is `first run` or `recovery`."""

    role: str
    file: str
    function: str
    rows: tuple[Row, ...]

    @property
    def is_swept(self) -> bool:
        """Whether any crash point lies in it."""
        return any(row.stretches for row in self.rows)


def listings(sweep: Sweep) -> tuple[Listing, ...]:
    """The first worker, and the resuming one where it is another function."""
    first = marks_at(0, sweep)
    found = [listing("first run", sweep.first, sweep, first)]
    later = marks_at(1, sweep)
    if sweep.resume != sweep.first or later:
        found.append(listing("recovery", sweep.resume, sweep, later))
    return tuple(found)


def marks_at(position: int, sweep: Sweep) -> tuple[Mark, ...]:
    """The crash points that schedules have at a position (1: at any later one), in order."""
    found: dict[CrashPoint, list[PointResult]] = {}
    if position == 0:
        found = {point: [] for point in sweep.points}
    for result in sweep.results:
        here = result.schedule[:1] if position == 0 else dict.fromkeys(result.schedule[1:])
        for point in here:
            found.setdefault(point, []).append(result)
    ordered = sorted(found, key=lambda point: (point.number, point.label))
    return tuple(Mark(point, tuple(found[point])) for point in ordered if found[point])


def listing(role: str, worker: tuple[str, str], sweep: Sweep, marks: Sequence[Mark]) -> Listing:
    """One worker's lines with their marks."""
    file, function = worker
    lines = source_lines(sweep, file)
    shown = [
        n
        for n in relevant(sweep.sources.get(file, ""), function, {m.point.line for m in marks})
        if n <= len(lines)
    ]
    rows = []
    for previous, number in zip([None, *shown], shown, strict=False):
        follows_gap = previous is not None and number != previous + 1
        rows.append(
            Row(
                number,
                visible(lines[number - 1]),
                stretches(m for m in marks if m.point.line == number),
                follows_gap,
            )
        )
    elsewhere = stretches(mark for mark in marks if mark.point.line not in shown)
    if elsewhere:
        names = dict.fromkeys(bare(mark.point) for stretch in elsewhere for mark in stretch.marks)
        rows.append(Row(0, ", ".join(names), elsewhere, follows_gap=bool(rows)))
    return Listing(role, PurePath(file).name, function, tuple(rows))


def relevant(source: str, function: str, lines: set[int]) -> list[int]:
    """The numbers of the lines worth showing: the function itself, and each that holds a crash point."""
    total = len(re.split(r"\r\n|\r|\n", source))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return list(range(1, total + 1))
    shown = {line for line in lines if 1 <= line <= total}
    for node in tree.body:
        first, last = node.lineno, node.end_lineno or node.lineno
        is_it = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
        if is_it or any(first <= line <= last for line in shown):
            shown |= set(range(first, last + 1))
    return sorted(shown)


def source_lines(sweep: Sweep, file: str) -> list[str]:
    """A file's lines, numbered as Python numbers them."""
    return re.split(r"\r\n|\r|\n", sweep.sources.get(file, ""))


def bare(point: CrashPoint) -> str:
    """A label without its number and line: `COMMIT`, `effect.committed`, `line 12`."""
    words = point.label.removeprefix(f"{point.number} ")
    return visible(words.removesuffix(f" at line {point.line}"))


def stretches(marks: Iterable[Mark]) -> tuple[Stretch, ...]:
    """Neighbours on a line that end alike, joined."""
    return tuple(Stretch(tuple(group)) for _, group in groupby(marks, key=lambda mark: mark.signs))


def ranges(numbers: Iterable[int]) -> str:
    """`1-4, 7, 9-12` for a rising sequence of numbers."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in found)
