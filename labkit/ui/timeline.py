"""The timeline of one trial: a lane for each store, one for the process, and where the kill fell.

SVG by drawsvg, the same bytes for the same story; text takes the page's colour.  `as_text` is the
same story in words, and stands in the picture's description too.
"""

from __future__ import annotations

import drawsvg  # type: ignore[import-untyped]

from labkit.ui import theme
from labkit.ui.story import SECOND, WORKER, Cut, Mark, Story
from labkit.ui.story_facts import JOURNAL
from labkit.ui.timeline_marks import LANE, LEFT, LEGEND, STEP, TOP, drawn, words
from labkit.ui.timeline_marks import x_of as x_of
from labkit.ui.timeline_marks import y_of as y_of

NUMBERED = 950  # px at least with all crash points, so that a kill moves along one scale
BELONGS = {WORKER: "the process", SECOND: "another process", JOURNAL: "the workflow's"}


def as_svg(story: Story) -> str:
    """The picture, to stand in a page."""
    width = round(LEFT + STEP * story.slots + 96)
    if story.ticks:
        width = max(width - 40, NUMBERED)
    bottom = TOP + LANE * (len(story.lanes) - 1) + 44
    height = bottom + LEGEND * len(story.boundaries) + 8
    picture = drawsvg.Drawing(
        width, height, role="img", font_family=theme.FONT, color="inherit",
        style=f"max-width:100%;height:auto;min-width:{width * 7 // 10 if story.ticks else width * 2 // 3}px",
    )  # fmt: skip
    picture.append_title(as_text(story))
    for lane in story.lanes:
        picture.append(_lane(story, lane, width))
    for cut in story.cuts:
        picture.append(_cut(story, cut, bottom))
    picture.extend([*_crash_points(story), *_bars(story)])
    for mark in sorted(story.marks, key=lambda mark: mark.kind != "ahead"):  # below what happened
        picture.append(drawn(story, mark))
    picture.append(_legend(story, bottom))
    return str(picture.as_svg(header=""))


def _lane(story: Story, lane: str, width: int) -> drawsvg.Group:
    y = y_of(story, lane)
    group = drawsvg.Group()
    if lane not in (WORKER, SECOND):
        group.append(drawsvg.Line(LEFT, y, width - 12, y, stroke=theme.GREY, stroke_width=1, opacity=0.55))
    group.append(words(lane, 14, 8, y + 1, font_weight=600))
    group.append(words(BELONGS.get(lane, "the provider's"), 11, 8, y + 16, opacity=0.7))
    return group


def _bars(story: Story) -> list[drawsvg.Rectangle]:
    """A bar for each process, from its start to its end."""
    starts = [mark for mark in story.marks if mark.kind == "start"]
    ends = [mark for mark in story.marks if mark.kind in ("kill", "exit")]
    pairs = [
        pair
        for lane in story.lanes
        for pair in zip(_in_lane(starts, lane), _in_lane(ends, lane), strict=True)
    ]
    return [
        drawsvg.Rectangle(
            x_of(start.slot) - 20,
            y_of(story, start.lane) - 7,
            x_of(end.slot) - x_of(start.slot) + 20,
            14,
            rx=7,
            fill=theme.BLUE,
            opacity=0.45,
        )
        for start, end in pairs
    ]


def _in_lane(marks: list[Mark], lane: str) -> list[Mark]:
    return [mark for mark in marks if mark.lane == lane]


def _crash_points(story: Story) -> list[drawsvg.Line]:
    """A tick for each numbered crash point of the first run, on the line that it would have lived."""
    if not story.ticks:
        return []
    y = y_of(story, WORKER)
    grey = {"stroke": theme.GREY, "opacity": 0.8}
    lived = drawsvg.Line(
        x_of(0) - 12, y, x_of(story.ticks[-1]) + 12, y, stroke_width=1, stroke_dasharray="3 3", **grey
    )
    ticks = [
        drawsvg.Line(x_of(slot), y - 5, x_of(slot), y + 5, stroke_width=1, **grey) for slot in story.ticks
    ]
    return [lived, *ticks]


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
    group.append(words(cut.label, 11, x, TOP - 31, text_anchor="middle", font_style="italic", opacity=0.8))
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
        group.append(words(count, 12, x, y + 4.2, text_anchor="middle", font_weight=600))
    return group


def _legend(story: Story, bottom: int) -> drawsvg.Group:
    group = drawsvg.Group()
    repeated = len(set(story.boundaries)) < len(story.boundaries)
    for number, boundary in enumerate(story.boundaries, 1):
        occurrence = story.boundaries[:number].count(boundary)
        name = boundary.value if occurrence == 1 else f"{boundary.value} ({occurrence})"
        y = bottom + LEGEND * number - 6
        group.append(drawsvg.Circle(15, y - 4, 7.5, fill=theme.BLUE))
        group.append(words(str(number), 10, 15, y - 0.5, text_anchor="middle", font_weight=700, fill="#fff"))
        group.append(words(name, 11.5, 30, y, font_weight=600))
        group.append(words(boundary.sentence, 11.5, LEFT + (86 if repeated else 62), y, opacity=0.85))
    return group


def as_text(story: Story) -> str:
    """The same story in words, a line for each mark."""
    lines = []
    for slot in sorted({mark.slot for mark in story.marks} | {cut.slot for cut in story.cuts}):
        for mark in (mark for mark in story.marks if mark.slot == slot and mark.kind != "ahead"):
            number = f"{mark.number} " if mark.number else ""
            label = mark.label.replace("\n", ", ")
            indent = "" if mark.kind == "start" else "  "
            whose = f" ({SECOND})" if mark.by == SECOND != mark.lane else ""
            if label:
                lines.append(f"{indent}{mark.lane}: {number}{label}{whose}")
        for cut in (cut for cut in story.cuts if cut.slot == slot):
            counts = ", ".join(f"{lane} {count}" for lane, count in cut.counts.items())
            lines += [f"{cut.label}: {counts}"]
    return "\n".join(lines)
