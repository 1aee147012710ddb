"""The crash graph as values: its states, its edges, and the shortest way to a wrong end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.ui.crash_view import ranges
from labkit.ui.signs import SYMBOLS, Sign, Tone, shown, sign, worst_first

MOST_ON_EDGE = 20  # letters
START = 0  # the state that the first run starts from


@dataclass(frozen=True, slots=True)
class State:
    """One durable state, or several that look alike under the lowest number.

    `signs` judge the rows that a run without faults leaves from here.
    """

    number: int
    alike: tuple[int, ...]
    role: str
    facts: tuple[str, ...]
    points: tuple[int, ...]
    signs: tuple[Sign, ...]
    is_final: bool
    is_bad: bool
    because: tuple[str, ...]

    @property
    def tone(self) -> Tone | None:
        """The worst sign's; None for a state that was not run from."""
        return self.signs[0].tone if self.signs else None

    @property
    def name(self) -> str:
        """`state 3`, and what it is to the work."""
        runs = "the start" if self.role == "first" else "interrupted"
        numbers = f"state{'' if len(self.alike) == 1 else 's'} {ranges(self.alike)}"
        return f"{numbers}: {'an end' if self.is_final else runs}"

    @property
    def tried(self) -> str:
        """How many crash points a run from here has."""
        return f"{ranges(self.points)} crash points" if any(self.points) else "no crash point tried"

    @property
    def ending(self) -> str:
        """Where a run without faults leads, in words."""
        if not self.signs:
            return "not run from"
        names = ", ".join(f"{one.symbol} {one.name}" for one in self.signs)
        return names if self.is_final else f"no crash: {names}"


@dataclass(frozen=True, slots=True)
class Edge:
    """All ways from one state to another: crash points by label, and whether a run to its end leads there too."""

    source: int
    target: int
    labels: tuple[str, ...]
    by_running: bool

    @property
    def short(self) -> tuple[str, ...]:
        """The ways, with a count in place of many numbers."""
        first, *more = self.ways
        return (first if len(first) <= MOST_ON_EDGE else f"{len(self.labels)} crash points", *more)

    @property
    def ways(self) -> tuple[str, ...]:
        """`crash at 1-20`, `no crash`, or both."""
        crash = (f"crash at {ranges(map(number_of, self.labels))}",) if self.labels else ()
        return (*crash, "no crash") if self.by_running else crash

    @property
    def ends(self) -> tuple[int, int]:
        """(source, target)."""
        return self.source, self.target

    @property
    def is_loop(self) -> bool:
        """Whether it leads back to where it starts."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole crash graph.  `way` holds the edges (source, target) of the shortest way to a bad end."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    way: tuple[tuple[int, int], ...]

    def stays(self, state: State) -> str:
        """The crashes that leave a state as it is, by number; empty where there are none."""
        loops = [edge for edge in self.edges if edge.is_loop and edge.source == state.number]
        return ranges(number_of(label) for edge in loops for label in edge.labels)

    def lines(self, state: State) -> list[str]:
        """What there is to say of a state, a fact a line, the verdict last."""
        stays = self.stays(state)
        same = [f"crash at {stays}: same {'state' if len(state.alike) == 1 else 'facts'}"] if stays else []
        return [state.name, *state.facts, state.tried, *same, state.ending]


def number_of(label: str) -> int:
    """The number that a crash point's label starts with, 0 where there is none."""
    found = re.match(r"\d+", label)
    return int(found[0]) if found else 0


def graph_of(closure: dict[str, Any]) -> Graph:
    """The values behind a sweep's `closure`."""
    bad = set(closure["bad_finals"])
    states = tuple(state_of(state, bad) for state in sorted(closure["states"], key=lambda state: state["id"]))
    parts = [
        (edge["from"], edge["to"], edge["points"] if edge["kind"] == "kill" else [], edge["kind"] == "run")
        for edge in closure["edges"]
    ]
    edges = merged(parts)
    return Graph(states, edges, way_to(closure.get("schedule"), edges, bad))


def merged(parts: Iterable[tuple[int, int, Sequence[str], bool]]) -> tuple[Edge, ...]:
    """One edge for each pair of states, its labels in the order of their numbers."""
    found: dict[tuple[int, int], tuple[set[str], bool]] = {}
    for source, target, labels, by_running in parts:
        known, runs = found.get((source, target), (set(), False))
        found[source, target] = known | set(labels), runs or by_running
    return tuple(
        Edge(source, target, tuple(sorted(labels, key=lambda label: (number_of(label), label))), by_running)
        for (source, target), (labels, by_running) in sorted(found.items())
    )


def by_looks(graph: Graph) -> Graph:
    """The graph with states of the same facts and verdicts as one, for a picture of many.

    A state that was found and not run from is left out: it says no more than the way to it does.
    """
    groups: dict[tuple[object, ...], list[State]] = {}
    for state in graph.states:
        look = (state.role, state.facts, state.signs, state.is_final, state.is_bad)
        groups.setdefault(look, []).extend([state] if state.signs else [])
    alike = [group for group in groups.values() if group]
    into = {state.number: group[0].number for group in alike for state in group}
    edges = merged(
        (into[edge.source], into[edge.target], edge.labels, edge.by_running)
        for edge in graph.edges
        if edge.source in into and edge.target in into
    )
    way = dict.fromkeys(
        (into[source], into[target]) for source, target in graph.way if source in into and target in into
    )
    return Graph(tuple(as_one(group) for group in alike), edges, tuple(way))


def as_one(group: Sequence[State]) -> State:
    """States that look alike, under the lowest number."""
    points = tuple(sorted({count for state in group for count in state.points}))
    return replace(group[0], alike=tuple(state.number for state in group), points=points)


def state_of(state: dict[str, Any], bad: set[int]) -> State:
    """One state of the JSON form."""
    return State(
        number=state["id"],
        alike=(state["id"],),
        role=state["role"],
        facts=tuple(f"{shown(name)}: {shown(value)}" for name, value in state["summary"].items())
        or ("as prepared",),
        points=(state["points"],),
        signs=worst_first(
            {sign(name, state["passed"] if name not in SYMBOLS else None) for name in state["verdicts"]}
        ),
        is_final=state["final"],
        is_bad=state["id"] in bad,
        because=tuple(shown(sentence) for sentence in state.get("because", ())),
    )


def way_to(
    schedule: Sequence[str] | None, edges: Iterable[Edge], bad: set[int]
) -> tuple[tuple[int, int], ...]:
    """The edges of a crash schedule, then of the runs to its bad end."""
    if schedule is None:
        return ()
    here, way, waiting = START, list[tuple[int, int]](), list(schedule)
    by_source: dict[int, list[Edge]] = {}
    for edge in edges:
        by_source.setdefault(edge.source, []).append(edge)
    for _ in range(len(by_source) + len(waiting) + 1):
        ways = by_source.get(here, [])
        crash = next((edge for edge in ways if waiting and waiting[0] in edge.labels), None)
        step = crash or next((edge for edge in ways if edge.by_running), None)
        if step is None or (not waiting and here in bad):
            break
        waiting = waiting[1:] if crash else waiting
        way.append((here, step.target))
        here = step.target
    return tuple(way)
