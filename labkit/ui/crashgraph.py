"""The crash graph: every durable state that crashes can reach, and the crashes that lead there.

SVG by drawsvg, the same bytes for the same graph; text takes the page's colour.  `text` is the twin
that holds all of it, also where the picture leaves states out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import drawsvg  # type: ignore[import-untyped]

from labkit.ui import theme
from labkit.ui.crashgraph_layout import EDGE, GAP, LINE, WIDTH, Place, layout
from labkit.ui.crashgraph_values import START, Edge, Graph, State, by_looks, graph_of
from labkit.ui.signs import visible

MOST_DRAWN = 16  # states; of more, those that look alike are drawn as one
MOST_LETTERS = 33  # in a box
TONES = {"fail": theme.RED, "unjudged": theme.AMBER, "pass": theme.GREEN}
PAPER = "var(--lk-bg, var(--jp-layout-color0, Canvas))"
INK = "#140800"  # on a filled sign


def svg(closure: dict[str, Any]) -> str:
    """The picture, to stand in a page."""
    whole = graph_of(closure)
    graph = whole if len(whole.states) <= MOST_DRAWN else by_looks(whole)
    drawn = worth_drawing(graph)
    places = layout(graph, drawn)
    left_out = len(whole.states) - sum(len(one.alike) for one in graph.states if one.number in drawn)
    height = places.height + (2 * LINE if left_out else 0)
    style = f"max-width:100%;height:auto;min-width:{places.width * 2 / 3:g}px"
    picture = drawsvg.Drawing(
        places.width, height, role="img", font_family=theme.FONT, class_="lk-graph", style=style
    )
    picture.append_title(text(closure))
    lines = [(edge, places.routes[edge.ends]) for edge in graph.edges if edge.ends in places.routes]
    lines.sort(key=lambda line: line[0].ends in graph.way)  # the way to the wrong end lies on top
    for edge, route in lines:
        picture.append(_line(edge, route, edge.ends in graph.way))
    for state in graph.states:
        if state.number in places.boxes:
            picture.append(_box(graph, state, places.boxes[state.number]))
    for edge, route in lines:
        if graph is whole or route[-1][0] > route[0][0]:  # in a joined graph the ways back are too many
            picture.append(_label(edge, route, edge.ends in graph.way))
    if left_out:
        picture.append(
            _text(f"{left_out} more states are in the text", EDGE, height - EDGE, font_style="italic")
        )
    return str(picture.as_svg(header=""))


def worth_drawing(graph: Graph) -> set[int]:
    """The way to the first wrong end, the other wrong ends, and the states found first."""
    wanted = [
        START,
        *(target for _, target in graph.way),
        *(state.number for state in graph.states if state.is_bad),
    ]
    wanted += [state.number for state in graph.states]
    return set(list(dict.fromkeys(wanted))[:MOST_DRAWN])


def _box(graph: Graph, state: State, box: tuple[float, float, float]) -> drawsvg.Group:
    """A state; where the work can end it has a double border, as automata have it."""
    x, y, height = box
    *above, ending = graph.lines(state)
    group = drawsvg.Group()
    group.append_title("\n".join([*above, ending, *state.because]))
    colour = TONES[state.tone] if (state.is_final or state.is_bad) and state.tone else theme.GREY
    thick = 4 if state.is_bad else 2 if state.is_final else 1
    group.append(drawsvg.Rectangle(x, y, WIDTH, height, rx=5, fill=PAPER, stroke=colour, stroke_width=thick))
    if state.is_final:
        group.append(drawsvg.Rectangle(x + 4, y + 4, WIDTH - 8, height - 8, rx=3, fill="none", stroke=colour))
    for index, line in enumerate(above):
        group.append(
            _text(_short(line), x + 11, y + 18 + LINE * index, font_weight=650 if index == 0 else 400)
        )
    base = y + 18 + LINE * len(above)
    style: dict[str, object] = {}
    if state.tone in ("fail", "unjudged"):
        group.append(drawsvg.Rectangle(x + 8, base - 12, WIDTH - 16, LINE + 1, rx=3, fill=TONES[state.tone]))
        style = {"fill": INK}
    group.append(_text(_short(ending), x + 11, base, **style))
    return group


def _line(edge: Edge, route: Sequence[Place], is_way: bool) -> drawsvg.Group:
    """A curve through its places, with an arrow's head; dashed where no crash leads along it."""
    colour = theme.RED if is_way else theme.GREY
    group = drawsvg.Group()
    group.append_title(
        "\n".join([f"state {edge.source} to state {edge.target}", *edge.ways, *map(visible, edge.labels)])
    )
    curve = drawsvg.Path(
        fill="none",
        stroke=colour,
        stroke_width=3 if is_way else 1.3,
        stroke_dasharray="none" if edge.labels else "5 4",
    )
    curve.M(*route[0])
    back = -1 if route[-1][0] <= route[-2][0] else 1  # into the right side of a box
    for index, ((x0, y0), (x1, y1)) in enumerate(pairwise(route)):
        if index % 2:  # straight past a column
            curve.L(x1, y1)
        else:
            bend = max(46.0, (x1 - x0) / 2)
            curve.C(x0 + bend, y0, x1 - back * bend, y1, x1, y1)
    group.append(curve)
    x, y = route[-1]
    group.append(drawsvg.Lines(x, y, x - back * 9, y - 4.5, x - back * 9, y + 4.5, close=True, fill=colour))
    return group


def _label(edge: Edge, route: Sequence[Place], is_way: bool) -> drawsvg.Group:
    """What leads along an edge, in the gap where it starts."""
    (x0, y0), (x1, y1) = route[:2]
    x = x0 + GAP / 2 if x1 > x0 else x0 + 36
    y = (y0 + y1) / 2
    style = {"stroke": PAPER, "stroke_width": 4, "paint_order": "stroke", "text_anchor": "middle"}
    group = drawsvg.Group()
    for index, way in enumerate(edge.short):
        line = way if index == 0 else f"or {way}"
        top = y + 4 - 6.5 * (len(edge.short) - 1)
        group.append(_text(line, x, top + 13 * index, font_weight=650 if is_way else 400, **style))
    return group


def _short(text: str, most: int = MOST_LETTERS) -> str:
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
        found += [f"  {', '.join([*state.facts, state.tried, state.ending])}"]
        found += [f"  {sentence}" for sentence in state.because]
        for edge in graph.edges:
            if edge.source == state.number:
                found.append(f"  {_in_words(edge, edge.ends in graph.way)}")
    return "\n".join(found)


def _in_words(edge: Edge, is_way: bool) -> str:
    place = "same state" if edge.is_loop else f"to state {edge.target}"
    way = " (on the way to the wrong end)" if is_way else ""
    labels = f" ({'; '.join(map(visible, edge.labels))})" if edge.labels else ""
    return f"{' or '.join(edge.ways)}: {place}{way}{labels}"


def summary(closure: dict[str, Any]) -> str:
    """Closed or open, and how much was done."""
    states, bad = len(closure["states"]), len(closure["bad_finals"])
    state = f"open: new states keep appearing (bound {closure['bound']})"
    if closure["closed"]:
        state = "closed: no crash leads to a new state"
    elif bad:
        state = "not explored further than needed to show that it is wrong"
    return f"{states} states, {closure['kills']} kills, {bad} wrong end{'' if bad == 1 else 's'}; {state}"
