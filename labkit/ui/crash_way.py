"""Depth `all`: the shortest crash schedule that leads to a wrong end, where depth 1 has found none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from labkit.observations import Sweep
from labkit.ui.crash_view import source_lines
from labkit.ui.crashgraph_values import START, State, graph_of
from labkit.ui.signs import visible


@dataclass(frozen=True, slots=True)
class WrongEnd:
    """Where the shortest schedule falls, on which line its last crash, and what is left behind."""

    where: str
    file: str
    line: int
    source: str
    state: State
    command: str

    @property
    def left(self) -> str:
        """The facts of the last state."""
        return ", ".join(self.state.facts)

    @property
    def because(self) -> str:
        """The sentences that its verdicts rest on."""
        return "; ".join(self.state.because)


def wrong_end(sweep: Sweep) -> WrongEnd | None:
    """The first wrong end of the crash graph; None without one."""
    closure = sweep.closure
    if closure is None or closure.get("schedule") is None:
        return None
    graph, labels = graph_of(closure), [visible(label) for label in closure["schedule"]]
    number = graph.way[-1][1] if graph.way else START
    state = next(state for state in graph.states if state.number == number)
    file = sweep.first[0] if len(labels) < 2 else sweep.resume[0]
    found = re.search(r"line (\d+)$", labels[-1]) if labels else None
    line, lines = int(found[1]) if found else 0, source_lines(sweep, file)
    source = visible(lines[line - 1]) if 0 < line <= len(lines) else ""
    where = ", then ".join(f"a crash before {label}" for label in labels) or "without any crash"
    return WrongEnd(where, visible(PurePath(file).name), line, source, state, closure.get("command") or "")
