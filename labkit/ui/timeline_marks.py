"""The marks of a timeline: where each stands, and how it is drawn."""

from __future__ import annotations

import drawsvg  # type: ignore[import-untyped]

from labkit.ui import theme
from labkit.ui.story import Mark, Story
from labkit.ui.story_facts import JOURNAL

LEFT = 118  # px, the lanes' names
STEP = 78  # px a column
LABEL = 1.4  # columns that a label under the journal takes
HALO = {"stroke": "var(--jp-layout-color0, Canvas)", "stroke_width": 4, "paint_order": "stroke"}
TOP = 46
LANE = 84  # px from lane to lane
LEGEND = 19  # px a line


def x_of(slot: float) -> float:
    """The middle of a column."""
    return LEFT + STEP * (slot + 0.5)


def y_of(story: Story, lane: str) -> int:
    """The line of a lane."""
    return TOP + LANE * story.lanes.index(lane)


def words(text: str, size: float, x: float, y: float, **style: object) -> drawsvg.Text:
    """A line of text in the page's colour."""
    return drawsvg.Text(text, size, x, y, **{"fill": "currentColor", **style})


def drawn(story: Story, mark: Mark) -> drawsvg.Group:
    """One mark in its lane."""
    x, y = x_of(mark.slot), y_of(story, mark.lane)
    group = drawsvg.Group()
    match mark.kind:
        case "start":
            above = bool(story.ticks) and mark.slot == 0  # below a row of crash points the kill has its label
            for index, line in enumerate(mark.label.split(", ")):
                group.append(words(line, 11, x - 18, y - 16 if above else y + 22 + 13 * index, opacity=0.8))
        case "boundary":
            group.append(drawsvg.Circle(x, y, 10, fill=theme.BLUE))
            group.append(
                words(str(mark.number), 12, x, y + 4.3, text_anchor="middle", font_weight=700, fill="#fff")
            )
        case "ahead":
            hollow = {"fill": "var(--jp-layout-color0, Canvas)", "stroke": theme.GREY}
            group.append(drawsvg.Circle(x, y, 9.5, stroke_dasharray="2 2", **hollow))
            group.append(words(str(mark.number), 12, x, y + 4.3, text_anchor="middle", opacity=0.7))
        case "kill":
            _cross(group, x, y)
            for index, line in enumerate(mark.label.split("\n")):
                look = {"fill": theme.RED, "style": theme.readable(theme.RED, "fill")} | HALO
                look |= {"text_anchor": "middle", "font_weight": 400 if index else 700}
                group.append(words(line, 12, x, y + 28 + 14 * index, **look))
        case "exit":
            group.append(drawsvg.Circle(x, y, 7, fill=theme.BLUE))
            for index, line in enumerate(mark.label.split(", ", 1)):
                group.append(words(line, 11, x, y + 24 + 14 * index, text_anchor="middle"))
        case _:
            _fact(story, mark, group)
    return group


def _cross(group: drawsvg.Group, x: float, y: float) -> None:
    group.append(drawsvg.Circle(x, y, 12, fill=theme.RED))
    for dy in (-5, 5):
        group.append(
            drawsvg.Line(x - 5, y - dy, x + 5, y + dy, stroke="#fff", stroke_width=3, stroke_linecap="round")
        )


def _fact(story: Story, mark: Mark, group: drawsvg.Group) -> None:
    """A row in a store, with the line that ties it to the process that wrote it."""
    x, y, worker = x_of(mark.slot), y_of(story, mark.lane), y_of(story, mark.by)
    colour = {"undone": theme.GREY, "refused": theme.AMBER, "between": theme.AMBER}.get(
        mark.kind, theme.GREEN
    )
    if mark.kind != "between":
        near = 12 if worker > y else -12
        group.append(
            drawsvg.Line(
                x,
                y,
                x,
                worker - near,
                stroke=colour,
                stroke_width=2,
                stroke_dasharray="2 3" if mark.kind == "undone" else "none",
            )
        )
    hollow = mark.kind == "undone"
    shape = {"x": x - 8, "y": y - 8, "width": 16, "height": 16, "rx": 3 if mark.kind == "effect" else 8}
    group.append(
        drawsvg.Rectangle(
            **shape,
            fill="var(--jp-layout-color0, Canvas)" if hollow else colour,
            stroke=colour,
            stroke_width=2,
        )
    )
    below = (24, 37)[_row(story, mark)] if mark.lane == JOURNAL else -14
    lines = mark.label.split("\n")
    for index, line in enumerate(lines):
        offset = below + 13 * index if below > 0 else below - 13 * (len(lines) - 1 - index)
        group.append(words(line, 11, x, y + offset, text_anchor="middle"))


def _row(story: Story, mark: Mark) -> int:
    """Under the journal: 0, or 1 where the label before it would reach into this one."""
    row, before = 0, -LABEL
    for other in sorted((one for one in story.marks if one.lane == mark.lane), key=lambda one: one.slot):
        row = 1 - row if other.slot - before < LABEL else 0
        before = other.slot
        if other is mark:
            break
    return row
