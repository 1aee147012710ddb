"""The timeline of one trial: a lane for each store, one for the process, and where the kill fell.

SVG by drawsvg, the same bytes for the same story; text takes the page's colour.  `as_text` is the
same story in words, and stands in the picture's description too.
"""

from __future__ import annotations

import drawsvg  # type: ignore[import-untyped]

from labkit.ui import theme
from labkit.ui.story import JOURNAL, WORKER, Cut, Mark, Story

LEFT = 118  # px, the lanes' names
STEP = 78  # px a column
TOP = 46
LANE = 84  # px from lane to lane
LEGEND = 19  # px a line
BELONGS = {WORKER: "the process", JOURNAL: "the workflow's"}


def as_svg(story: Story) -> str:
    """The picture, to stand in a page."""
    width = LEFT + STEP * story.slots + 96
    bottom = TOP + LANE * (len(story.lanes) - 1) + 44
    height = bottom + LEGEND * len(story.boundaries) + 8
    picture = drawsvg.Drawing(
        width, height, role="img", font_family=theme.FONT, color="inherit",
        style=f"max-width:100%;height:auto;min-width:{width * 2 // 3}px",
    )  # fmt: skip
    picture.append_title(as_text(story))
    for lane in story.lanes:
        picture.append(_lane(story, lane, width))
    for cut in story.cuts:
        picture.append(_cut(story, cut, bottom))
    for bar in _bars(story):
        picture.append(bar)
    for mark in story.marks:
        picture.append(_mark(story, mark))
    picture.append(_legend(story, bottom))
    return str(picture.as_svg(header=""))


def x_of(slot: float) -> float:
    """The middle of a column."""
    return LEFT + STEP * (slot + 0.5)


def y_of(story: Story, lane: str) -> int:
    """The line of a lane."""
    return TOP + LANE * story.lanes.index(lane)


def _text(text: str, size: float, x: float, y: float, **style: object) -> drawsvg.Text:
    return drawsvg.Text(text, size, x, y, **{"fill": "currentColor", **style})


def _lane(story: Story, lane: str, width: int) -> drawsvg.Group:
    y = y_of(story, lane)
    group = drawsvg.Group()
    if lane != WORKER:
        group.append(drawsvg.Line(LEFT, y, width - 12, y, stroke=theme.GREY, stroke_width=1, opacity=0.55))
    group.append(_text(lane, 14, 8, y + 1, font_weight=600))
    group.append(_text(BELONGS.get(lane, "the provider's"), 11, 8, y + 16, opacity=0.7))
    return group


def _bars(story: Story) -> list[drawsvg.Rectangle]:
    """A bar for each process, from its start to its end."""
    y = y_of(story, WORKER)
    starts = [mark for mark in story.marks if mark.kind == "start"]
    ends = [mark for mark in story.marks if mark.kind in ("kill", "exit")]
    return [
        drawsvg.Rectangle(
            x_of(start.slot) - 20,
            y - 7,
            x_of(end.slot) - x_of(start.slot) + 20,
            14,
            rx=7,
            fill=theme.BLUE,
            opacity=0.45,
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def _cut(story: Story, cut: Cut, bottom: int) -> drawsvg.Group:
    """A dashed line through all stores, with what a look at them finds."""
    x = x_of(cut.slot)
    group = drawsvg.Group()
    group.append(
        drawsvg.Line(
            x,
            TOP - 24,
            x,
            bottom - 22,
            stroke="currentColor",
            stroke_width=1,
            stroke_dasharray="3 4",
            opacity=0.6,
        )
    )
    group.append(_text(cut.label, 11, x, TOP - 31, text_anchor="middle", font_style="italic", opacity=0.8))
    for lane, count in cut.counts.items():
        y = y_of(story, lane)
        width = 14 + 7 * len(count)
        group.append(
            drawsvg.Rectangle(
                x - width / 2,
                y - 11,
                width,
                22,
                rx=11,
                fill="var(--jp-layout-color0, Canvas)",
                stroke="currentColor",
                stroke_width=1.2,
            )
        )
        group.append(_text(count, 12, x, y + 4.2, text_anchor="middle", font_weight=600))
    return group


def _mark(story: Story, mark: Mark) -> drawsvg.Group:
    x, y = x_of(mark.slot), y_of(story, mark.lane)
    group = drawsvg.Group()
    match mark.kind:
        case "start":
            for index, line in enumerate(mark.label.split(", ")):
                group.append(_text(line, 11, x - 18, y + 22 + 13 * index, opacity=0.8))
        case "boundary":
            group.append(drawsvg.Circle(x, y, 10, fill=theme.BLUE))
            group.append(
                _text(str(mark.number), 12, x, y + 4.3, text_anchor="middle", font_weight=700, fill="#fff")
            )
        case "kill":
            _cross(group, x, y)
            group.append(
                _text(mark.label, 12, x, y + 28, text_anchor="middle", font_weight=700, fill=theme.RED)
            )
        case "exit":
            group.append(drawsvg.Circle(x, y, 7, fill=theme.BLUE))
            for index, line in enumerate(mark.label.split(", ", 1)):
                group.append(_text(line, 11, x, y + 24 + 14 * index, text_anchor="middle"))
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
    x, y, worker = x_of(mark.slot), y_of(story, mark.lane), y_of(story, WORKER)
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
    below = 24 if mark.lane == JOURNAL else -14
    lines = mark.label.split("\n")
    for index, line in enumerate(lines):
        offset = below + 13 * index if below > 0 else below - 13 * (len(lines) - 1 - index)
        group.append(_text(line, 11, x, y + offset, text_anchor="middle"))


def _legend(story: Story, bottom: int) -> drawsvg.Group:
    group = drawsvg.Group()
    repeated = len(set(story.boundaries)) < len(story.boundaries)
    for number, boundary in enumerate(story.boundaries, 1):
        occurrence = story.boundaries[:number].count(boundary)
        name = boundary.value if occurrence == 1 else f"{boundary.value} ({occurrence})"
        y = bottom + LEGEND * number - 6
        group.append(drawsvg.Circle(15, y - 4, 7.5, fill=theme.BLUE))
        group.append(_text(str(number), 10, 15, y - 0.5, text_anchor="middle", font_weight=700, fill="#fff"))
        group.append(_text(name, 11.5, 30, y, font_weight=600))
        group.append(_text(boundary.sentence, 11.5, LEFT + (86 if repeated else 62), y, opacity=0.85))
    return group


def as_text(story: Story) -> str:
    """The same story in words, a line for each mark."""
    lines = []
    for slot in range(story.slots):
        for mark in (mark for mark in story.marks if mark.slot == slot):
            number = f"{mark.number} " if mark.number else ""
            label = mark.label.replace("\n", ", ")
            indent = "" if mark.kind == "start" else "  "
            lines.append(f"{indent}{mark.lane}: {number}{label}")
        for cut in (cut for cut in story.cuts if cut.slot == slot):
            counts = ", ".join(f"{lane} {count}" for lane, count in cut.counts.items())
            lines += [f"{cut.label}: {counts}"]
    return "\n".join(lines)
