"""Depth 2 as a grid: a row for the first crash, a column for the crash in the recovery after it.

First crashes after which every second crash ends alike share a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import drawsvg  # type: ignore[import-untyped]

from labkit.observations import PointResult, Sweep
from labkit.ui import theme
from labkit.ui.crash_outcomes import outcomes
from labkit.ui.crash_view import Mark, Stretch, marks_at, ranges, stretches

CELL = 17  # px
HEIGHT = 24  # px a row
LEFT = 190  # px, the rows' names
TOP = 22
FILLS = {"fail": theme.RED, "unjudged": theme.AMBER, "pass": "none"}


@dataclass(frozen=True, slots=True)
class GridRow:
    """First crashes (`1-20` on lines `13-15`) with the second crashes that they have in common."""

    firsts: str
    lines: str
    stretches: tuple[Stretch, ...]

    @property
    def text(self) -> str:
        """`✓ 1-19 exactly_one; D 20-30 duplicate`."""
        return "; ".join(
            f"{signs_text(one)} {one.numbers} {', '.join(s.name for s in one.signs)}"
            for one in self.stretches
        )


def rows(sweep: Sweep) -> tuple[GridRow, ...]:
    """The grid; empty where no schedule has two crashes."""
    found = []
    marks = [mark for mark in marks_at(0, sweep) if any(len(one.schedule) > 1 for one in mark.results)]
    for _, group in groupby(marks, key=lambda mark: [(one.point.label, one.signs) for one in seconds(mark)]):
        alike = list(group)
        lines = sorted({mark.point.line for mark in alike} - {0})
        together: dict[int, list[PointResult]] = {}
        for mark in alike:
            for second in seconds(mark):
                together.setdefault(second.point.number, []).extend(second.results)
        columns = [Mark(second.point, tuple(together[second.point.number])) for second in seconds(alike[0])]
        found.append(GridRow(ranges(mark.point.number for mark in alike), ranges(lines), stretches(columns)))
    return tuple(found)


def seconds(mark: Mark) -> list[Mark]:
    """The crashes that follow a first one, in order."""
    pairs = [result for result in mark.results if len(result.schedule) > 1]
    return [
        Mark(result.schedule[1], (result,))
        for result in sorted(pairs, key=lambda one: one.schedule[1].number)
    ]


def signs_text(stretch: Stretch) -> str:
    """The symbols, the worst first."""
    return "".join(sign.symbol for sign in stretch.signs)


def text(sweep: Sweep) -> str:
    """The grid in words, a line a row; empty where there is none."""
    return "\n".join(f"{row.firsts} then {row.text}" for row in rows(sweep))


def svg(sweep: Sweep) -> str:
    """The grid as a picture for the crash map's page, whose style sheet gives it its colours."""
    found = rows(sweep)
    if not found:
        return ""
    columns = max(mark.point.number for row in found for stretch in row.stretches for mark in stretch.marks)
    width, height = LEFT + CELL * columns + 8, TOP + HEIGHT * len(found) + 6
    picture = drawsvg.Drawing(width, height, role="img", font_family=theme.FONT, class_="lk-grid")
    picture.append_title(text(sweep))
    for number in [1, *range(5, columns + 1, 5)]:
        picture.append(_label(str(number), LEFT + CELL * (number - 0.5), TOP - 8, text_anchor="middle"))
    for index, row in enumerate(found):
        picture.append(_row(row, TOP + HEIGHT * index))
    return str(picture.as_svg(header=""))


def _row(row: GridRow, y: int) -> drawsvg.Group:
    group = drawsvg.Group()
    on_lines = f" on line{'' if row.lines.isdigit() else 's'} {row.lines}" if row.lines else ""
    group.append(_label(f"{row.firsts}{on_lines}", LEFT - 10, y + 16, text_anchor="end", font_weight=600))
    for stretch in row.stretches:
        for block in _blocks(stretch.marks):
            group.append(_block(row, stretch, block, y))
    return group


def _blocks(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Marks whose numbers follow each other."""
    pairs = groupby(enumerate(marks), key=lambda pair: pair[1].point.number - pair[0])
    return [[mark for _, mark in group] for _, group in pairs]


def _block(row: GridRow, stretch: Stretch, block: list[Mark], y: int) -> drawsvg.Group:
    """Neighbours that end alike: one bar, a symbol for each crash."""
    first, count = block[0].point.number, len(block)
    group = drawsvg.Group(class_=f"lk-{stretch.tone}")
    group.append_title(hover(row, block))
    x = LEFT + CELL * (first - 1)
    group.append(
        drawsvg.Rectangle(x + 0.5, y + 2, CELL * count - 1, HEIGHT - 4, rx=3, fill=FILLS[stretch.tone])
    )
    middles = " ".join(f"{x + CELL * (n + 0.5):g}" for n in range(count))
    symbol = stretch.signs[0].symbol
    group.append(
        _label(symbol * count, middles, y + 16, text_anchor="middle", font_family=theme.MONO, font_weight=600)
    )
    return group


def hover(row: GridRow, block: Sequence[Mark]) -> str:
    """What a pointer that rests there tells."""
    points = f"{block[0].point.label} to {block[-1].point.label}" if len(block) > 1 else block[0].point.label
    ends = [
        f"{one.names}, {one.happened}"
        for one in outcomes([result for mark in block for result in mark.results])
    ]
    return "\n".join([f"first {row.firsts}, then {points}", *ends])


def _label(text: str, x: float | str, y: float, **style: object) -> drawsvg.Text:
    return drawsvg.Text(text, 12, x, y, **{"fill": "currentColor", **style})
