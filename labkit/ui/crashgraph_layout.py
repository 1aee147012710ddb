"""Where everything in a crash graph's picture stands.

States stand in columns by the number of runs that lead there; where the work can end stands last.
An edge that passes a column gets a gap of its own there, so that it runs behind no box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.ui.crashgraph_values import START, Edge, Graph

WIDTH, GAP = 212, 112  # px, a state's box, and what lies between two columns
LINE = 15  # px a line of text
SPACE = 30  # px between two boxes of a column
EDGE = 8  # px around the picture
PASSAGE = 4  # px, the height of an edge that passes a column

Slot = int | tuple[int, int]  # a state, or an edge (source, target) that passes by
Place = tuple[float, float]  # x, y
Columns = list[list[Slot]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes as (x, y, height) by state, a line of places for each edge, and the size of the whole."""

    boxes: dict[int, tuple[float, float, float]]
    routes: dict[tuple[int, int], tuple[Place, ...]]
    width: float
    height: float


def layout(graph: Graph, drawn: set[int]) -> Layout:
    """Places for the drawn states and the edges between them."""
    edges = [edge for edge in graph.edges if {edge.source, edge.target} <= drawn and not edge.is_loop]
    column_of = columns_of(graph, drawn)
    columns = ordered(with_passages(column_of, edges), edges)
    heights: dict[Slot, float] = {state.number: LINE * len(graph.lines(state)) + 14 for state in graph.states}
    tallest = max(stack_height(column, heights) for column in columns)
    tops: dict[tuple[int, Slot], float] = {}
    for index, column in enumerate(columns):
        y = EDGE + (tallest - stack_height(column, heights)) / 2
        for slot in column:
            tops[index, slot] = round(y, 1)
            y += heights.get(slot, PASSAGE) + SPACE
    boxes = {
        number: (float(EDGE + column * (WIDTH + GAP)), tops[column, number], heights[number])
        for number, column in column_of.items()
    }
    back = any(column_of[edge.source] >= column_of[edge.target] for edge in edges)
    width = 2 * EDGE + len(columns) * (WIDTH + GAP) - (0 if back else GAP)
    return Layout(boxes, routes(edges, column_of, boxes, tops), width, 2 * EDGE + tallest)


def stack_height(column: Sequence[Slot], heights: dict[Slot, float]) -> float:
    """The height of a column's slots with the space between them."""
    return sum(heights.get(slot, PASSAGE) + SPACE for slot in column) - SPACE


def columns_of(graph: Graph, drawn: set[int]) -> dict[int, int]:
    """The column of each drawn state; columns that nothing stands in are left out."""
    distance, queue = {START: 0}, [START]
    for here in queue:
        for edge in graph.edges:
            if edge.source == here and edge.target not in distance:
                distance[edge.target] = distance[here] + 1
                queue.append(edge.target)
    finals = {state.number for state in graph.states if state.is_final and state.number != START}
    last = 1 + max((distance.get(number, 0) for number in drawn - finals), default=0)
    raw = {number: last if number in finals else distance.get(number, 0) for number in sorted(drawn)}
    used = {column: index for index, column in enumerate(sorted(set(raw.values())))}
    return {number: used[column] for number, column in raw.items()}


def with_passages(column_of: dict[int, int], edges: Sequence[Edge]) -> Columns:
    """The slots of each column, not ordered yet."""
    columns: Columns = [[] for _ in range(1 + max(column_of.values()))]
    for number, column in column_of.items():
        columns[column].append(number)
    for edge in edges:
        for column in range(column_of[edge.source] + 1, column_of[edge.target]):
            columns[column].append((edge.source, edge.target))
    return columns


def ordered(columns: Columns, edges: Sequence[Edge]) -> Columns:
    """Each column's slots near what leads there, so that few edges cross."""
    found: Columns = []
    for column in columns:
        above = {slot: index - len(found[-1]) / 2 for index, slot in enumerate(found[-1])} if found else {}
        weights = {slot: weight(slot, above, edges) for slot in column}
        found.append(sorted(column, key=lambda slot: (weights[slot], str(slot))))
    return found


def weight(slot: Slot, above: dict[Slot, float], edges: Sequence[Edge]) -> float:
    """The middle of what leads to a slot from the column before it."""
    if isinstance(slot, tuple):
        sources = [above[one] for one in (slot, slot[0]) if one in above]
    else:
        before = [one for edge in edges if edge.target == slot for one in ((edge.source, slot), edge.source)]
        sources = [above[one] for one in before if one in above]
    return sum(sources) / len(sources) if sources else 0.0


def routes(
    edges: Sequence[Edge],
    column_of: dict[int, int],
    boxes: dict[int, tuple[float, float, float]],
    tops: dict[tuple[int, Slot], float],
) -> dict[tuple[int, int], tuple[Place, ...]]:
    """The places that each edge runs through: out of a box, past the columns between, into a box.

    Places come in pairs, on the left and the right of a column, so that a curve can lie between pairs.
    """
    inner: dict[tuple[int, int], list[Place]] = {}
    for edge in edges:
        key, passed = (edge.source, edge.target), range(column_of[edge.source] + 1, column_of[edge.target])
        left = [(EDGE + column * (WIDTH + GAP), tops[column, key] + PASSAGE / 2) for column in passed]
        inner[key] = [place for x, y in left for place in ((x, y), (x + WIDTH, y))]
    middle = {number: y + height / 2 for number, (_, y, height) in boxes.items()}
    found = {}
    for source, target in inner:
        out = sorted(
            (key for key in inner if key[0] == source), key=lambda key: next_y(inner[key], middle[key[1]])
        )
        into = sorted(
            (key for key in inner if key[1] == target), key=lambda key: last_y(inner[key], middle[key[0]])
        )
        forward = column_of[target] > column_of[source]
        x0, x1 = boxes[source][0] + WIDTH, boxes[target][0] + (0 if forward else WIDTH)
        start = (x0, port(boxes[source], out.index((source, target)), len(out)))
        end = (x1, port(boxes[target], into.index((source, target)), len(into)))
        found[source, target] = (start, *inner[source, target], end)
    return found


def next_y(inner: Sequence[Place], target: float) -> float:
    """The height to which an edge runs first."""
    return inner[0][1] if inner else target


def last_y(inner: Sequence[Place], source: float) -> float:
    """The height from which an edge comes at last."""
    return inner[-1][1] if inner else source


def port(box: tuple[float, float, float], index: int, count: int) -> float:
    """Where on a box's side the edge of this place in the order is fixed."""
    _, y, height = box
    return round(y + height * (index + 1) / (count + 1), 1)
