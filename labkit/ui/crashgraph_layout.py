"""The crash graph as values: its states and edges, the way to the first bad end, and a place for each.

States stand in columns by the number of runs that lead there; where the work can end stands last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.ui.crash_view import ranges
from labkit.ui.signs import SYMBOLS, Sign, Tone, shown, sign, worst_first

START = 0  # the state that the first run starts from


@dataclass(frozen=True, slots=True)
class State:
    """One durable state.  `signs` judge the rows that a run without faults leaves from here."""

    number: int
    role: str
    facts: tuple[str, ...]
    points: int
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
        """`state 3`, and what runs from there."""
        runs = "the first run starts here" if self.role == "first" else "recovery starts here"
        return f"state {self.number}: {'the work can end here' if self.is_final else runs}"

    @property
    def ending(self) -> str:
        """Where a run without faults leads, in words."""
        if not self.signs:
            return "not run from"
        names = ", ".join(f"{one.symbol} {one.name}" for one in self.signs)
        return names if self.is_final else f"without a crash: {names}"


@dataclass(frozen=True, slots=True)
class Edge:
    """All ways from one state to another: crash points by label, and whether a run to its end leads there too."""

    source: int
    target: int
    labels: tuple[str, ...]
    by_running: bool

    @property
    def text(self) -> str:
        """`crash at 1-20`, `runs to its end`, or both."""
        crash = [f"crash at {ranges(map(number_of, self.labels))}"] if self.labels else []
        return " or ".join([*crash, *(["runs to its end"] if self.by_running else [])])


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole crash graph.  `way` holds the edges (source, target) of the shortest way to a bad end."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    way: tuple[tuple[int, int], ...]


def number_of(label: str) -> int:
    """The number that a crash point's label starts with, 0 where there is none."""
    found = re.match(r"\d+", label)
    return int(found[0]) if found else 0


def graph_of(closure: dict[str, Any]) -> Graph:
    """The values behind a sweep's `closure`."""
    bad = set(closure["bad_finals"])
    states = tuple(state_of(state, bad) for state in sorted(closure["states"], key=lambda state: state["id"]))
    merged: dict[tuple[int, int], tuple[set[str], bool]] = {}
    for edge in closure["edges"]:
        labels, by_running = merged.get((edge["from"], edge["to"]), (set(), False))
        if edge["kind"] == "kill":
            labels = labels | set(edge["points"])
        merged[edge["from"], edge["to"]] = labels, by_running or edge["kind"] == "run"
    edges = tuple(
        Edge(source, target, tuple(sorted(labels, key=lambda label: (number_of(label), label))), by_running)
        for (source, target), (labels, by_running) in sorted(merged.items())
    )
    return Graph(states, edges, way_to(closure.get("schedule"), edges, bad))


def state_of(state: dict[str, Any], bad: set[int]) -> State:
    """One state of the JSON form."""
    return State(
        number=state["id"],
        role=state["role"],
        facts=tuple(f"{shown(name)}: {shown(value)}" for name, value in state["summary"].items())
        or ("as prepared",),
        points=state["points"],
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
    here, way = START, []
    waiting, by_source = list(schedule), {}
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


def columns(graph: Graph, drawn: set[int]) -> list[list[int]]:
    """The drawn states in columns, left to right; within one, near what leads there."""
    distance = {START: 0}
    queue = [START]
    for here in queue:
        for edge in graph.edges:
            if edge.source == here and edge.target not in distance:
                distance[edge.target] = distance[here] + 1
                queue.append(edge.target)
    finals = {state.number for state in graph.states if state.is_final and state.number != START}
    last = 1 + max((distance.get(number, 0) for number in drawn - finals), default=0)
    found: dict[int, list[int]] = {}
    for number in sorted(drawn):
        found.setdefault(last if number in finals else distance.get(number, 0), []).append(number)
    placed: dict[int, float] = {}
    for column in sorted(found):
        before = {
            n: [placed[e.source] for e in graph.edges if e.target == n and e.source in placed]
            for n in found[column]
        }
        found[column].sort(key=lambda n: (sum(before[n]) / len(before[n]) if before[n] else 0.0, n))
        placed |= {number: index - len(found[column]) / 2 for index, number in enumerate(found[column])}
    return [found[column] for column in sorted(found)]
