"""The crash graph: every durable state that crashes can reach, and the crashes that lead there.

SVG by drawsvg, the same bytes for the same graph; text takes the page's colour.  `text` is the twin
that holds all of it, also where the picture leaves states out.
"""

from __future__ import annotations

from typing import Any

import drawsvg  # type: ignore[import-untyped]

from labkit.ui import theme
from labkit.ui.crash_view import ranges
from labkit.ui.crashgraph_layout import START, Edge, Graph, State, columns, graph_of, number_of
from labkit.ui.signs import visible

MOST_DRAWN = 24  # states; a larger picture shows nothing
WIDTH, GAP = 212, 136  # px, a state's box and what lies between two columns
LINE = 15  # px a line of text
SPACE = 26  # px between two boxes of a column
EDGE = 8  # px around the picture
TONES = {"fail": theme.RED, "unjudged": theme.AMBER, "pass": theme.GREEN}
PAPER = "var(--lk-bg, var(--jp-layout-color0, Canvas))"
INK = "#140800"  # on a filled sign

Box = tuple[float, float, float]  # x, y, height


def svg(closure: dict[str, Any]) -> str:
    """The picture, to stand in a page."""
    graph = graph_of(closure)
    drawn = worth_drawing(graph)
    boxes, width, height = places(graph, drawn)
    picture = drawsvg.Drawing(width, height, role="img", font_family=theme.FONT, class_="lk-graph")
    picture.append_title(text(closure))
    edges = [
        edge
        for edge in graph.edges
        if edge.source in boxes and edge.target in boxes and edge.source != edge.target
    ]
    for edge in sorted(edges, key=lambda edge: (edge.source, edge.target) in graph.way):
        picture.append(_edge(edge, boxes, (edge.source, edge.target) in graph.way))
    for state in graph.states:
        if state.number in boxes:
            picture.append(_state(state, stays(graph, state), boxes[state.number]))
    if len(drawn) < len(graph.states):
        left_out = f"{len(graph.states) - len(drawn)} more states are in the text"
        picture.append(_text(left_out, EDGE, height - EDGE, font_style="italic"))
    return str(picture.as_svg(header=""))


def worth_drawing(graph: Graph) -> set[int]:
    """The way to the first bad end, the bad ends, and the states found first."""
    wanted = [
        START,
        *(target for _, target in graph.way),
        *(state.number for state in graph.states if state.is_bad),
    ]
    wanted += [state.number for state in graph.states]
    return set(list(dict.fromkeys(wanted))[:MOST_DRAWN])


def places(graph: Graph, drawn: set[int]) -> tuple[dict[int, Box], float, float]:
    """Where each box stands, and the size of the whole."""
    heights = {state.number: LINE * len(lines(state, stays(graph, state))) + 14 for state in graph.states}
    stacks = columns(graph, drawn)
    tallest = max(sum(heights[n] + SPACE for n in stack) - SPACE for stack in stacks)
    boxes: dict[int, Box] = {}
    for index, stack in enumerate(stacks):
        y = EDGE + (tallest - sum(heights[n] + SPACE for n in stack) + SPACE) / 2
        for number in stack:
            boxes[number] = (EDGE + index * (WIDTH + GAP), round(y, 1), heights[number])
            y += heights[number] + SPACE
    note = 0 if len(drawn) == len(graph.states) else 2 * LINE
    return boxes, 2 * EDGE + len(stacks) * (WIDTH + GAP) - GAP, 2 * EDGE + tallest + note


def stays(graph: Graph, state: State) -> str:
    """The crashes that leave a state as it is, by number; empty where there are none."""
    own = [edge for edge in graph.edges if edge.source == edge.target == state.number]
    return ranges(number_of(label) for label in own[0].labels) if own and own[0].labels else ""


def lines(state: State, staying: str) -> list[str]:
    """What stands in a state's box."""
    points = f"{state.points} crash points" if state.points else "no crash point tried"
    here = [f"crash at {staying}: stays here"] if staying else []
    return [state.name, *state.facts, points, *here, state.ending]


def _state(state: State, staying: str, box: Box) -> drawsvg.Group:
    x, y, height = box
    group = drawsvg.Group()
    group.append_title("\n".join([*lines(state, staying), *state.because]))
    colour = TONES[state.tone] if state.is_final and state.tone else theme.GREY
    thick = 4 if state.is_bad else 2 if state.is_final else 1
    group.append(drawsvg.Rectangle(x, y, WIDTH, height, rx=5, fill=PAPER, stroke=colour, stroke_width=thick))
    if state.is_final:  # a double border, as automata have it
        group.append(
            drawsvg.Rectangle(
                x + 4, y + 4, WIDTH - 8, height - 8, rx=3, fill="none", stroke=colour, stroke_width=1
            )
        )
    *above, ending = lines(state, staying)
    for index, line in enumerate(above):
        weight = 650 if index == 0 else 400
        group.append(_text(_short(line), x + 11, y + 18 + LINE * index, font_weight=weight))
    base = y + 18 + LINE * len(above)
    if state.tone in ("fail", "unjudged"):
        group.append(drawsvg.Rectangle(x + 8, base - 12, WIDTH - 16, LINE + 1, rx=3, fill=TONES[state.tone]))
    failing = {"fill": INK, "font_weight": 650} if state.tone in ("fail", "unjudged") else {}
    group.append(_text(_short(ending), x + 11, base, **failing))
    return group


def _edge(edge: Edge, boxes: dict[int, Box], is_on_the_way: bool) -> drawsvg.Group:
    """A curve from right side to left side, with an arrow's head and what leads along it."""
    (x0, y0, height0), (x1, y1, height1) = boxes[edge.source], boxes[edge.target]
    start, end = (x0 + WIDTH, y0 + height0 / 2), (x1 - 2, y1 + height1 / 2)
    bend = max(60.0, (end[0] - start[0]) / 2)
    colour, thick = (theme.RED, 3) if is_on_the_way else (theme.GREY, 1.3)
    dashes = "none" if edge.labels else "5 4"
    group = drawsvg.Group()
    group.append_title(
        "\n".join([f"from state {edge.source} to state {edge.target}", edge.text, *map(visible, edge.labels)])
    )
    curve = drawsvg.Path(fill="none", stroke=colour, stroke_width=thick, stroke_dasharray=dashes)
    curve.M(*start).C(start[0] + bend, start[1], end[0] - bend, end[1], *end)
    group.append(curve)
    group.append(
        drawsvg.Lines(end[0], end[1], end[0] - 8, end[1] - 4, end[0] - 8, end[1] + 4, close=True, fill=colour)
    )
    x, y = _on_curve(start, end, bend)
    label = {"stroke": PAPER, "stroke_width": 4, "paint_order": "stroke", "text_anchor": "middle"}
    group.append(_text(_short(edge.text, 34), x, y + 4, font_weight=650 if is_on_the_way else 400, **label))
    return group


def _on_curve(start: tuple[float, float], end: tuple[float, float], bend: float) -> tuple[float, float]:
    """A point in the gap after the source, where curves to different targets have parted."""
    t = min(0.5, 0.5 * GAP / max(1.0, end[0] - start[0])) if end[0] > start[0] else 0.5
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    xs, ys = (start[0], start[0] + bend, end[0] - bend, end[0]), (start[1], start[1], end[1], end[1])
    return (
        round(sum(w * v for w, v in zip(weights, xs, strict=True)), 1),
        round(sum(w * v for w, v in zip(weights, ys, strict=True)), 1),
    )


def _short(text: str, most: int = 36) -> str:
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _text(text: str, x: float, y: float, **style: object) -> drawsvg.Text:
    return drawsvg.Text(text, 11, x, y, **{"fill": "currentColor", **style})


def text(closure: dict[str, Any]) -> str:
    """The whole graph in words."""
    graph = graph_of(closure)
    found = [summary(closure)]
    if closure.get("schedule") is not None:
        crashes = ", then ".join(visible(label) for label in closure["schedule"]) or "no crash"
        found.append(f"shortest way to a wrong end: {crashes}")
        found += [f"again: {visible(closure['command'])}"] if closure.get("command") else []
    for state in graph.states:
        found += ["", f"{'! ' if state.is_bad else ''}{state.name}"]
        found += [
            f"  {line}"
            for line in (
                ", ".join(state.facts),
                f"{state.points} crash points; {state.ending}",
                *state.because,
            )
        ]
        for edge in graph.edges:
            if edge.source == state.number:
                place = "stays here" if edge.target == edge.source else f"to state {edge.target}"
                way = " (on the way to the wrong end)" if (edge.source, edge.target) in graph.way else ""
                labels = f" ({'; '.join(map(visible, edge.labels))})" if edge.labels else ""
                found.append(f"  {edge.text}: {place}{way}{labels}")
    return "\n".join(found)


def summary(closure: dict[str, Any]) -> str:
    """Closed or open, and how much was done."""
    states, bad = len(closure["states"]), len(closure["bad_finals"])
    state = (
        "closed: no crash leads to a new state"
        if closure["closed"]
        else f"open: not every state was explored (bound {closure['bound']})"
    )
    return f"{states} states, {closure['kills']} kills, {bad} wrong end{'' if bad == 1 else 's'}; {state}"
