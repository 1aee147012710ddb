"""The states found so far and the search for more, breadth first; see `closure` for what it proves."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool

MOST_STATES = 120
Key = tuple[str, str]  # role of the run that follows, digest of the stores


@dataclass(slots=True)
class Node:
    """One durable state: how it was reached, and where every run from it leads."""

    number: int
    key: Key
    depth: int
    folder: str
    minted: list[str]
    raw: str
    summary: dict[str, Any]
    parent: Node | None = None
    label: str = ""
    at: int = 0
    points: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    exits: dict[str, Key] = field(default_factory=dict)  # label of the point, or "runs to its end"
    twin: dict[str, Any] | None = None  # another content that was merged into this state
    problem: str = ""

    @property
    def state(self) -> dict[str, Any]:
        """What a warm process needs to run from here."""
        run_number = 1 if self.key[0] == "first" else self.depth + 1
        return {"folder": self.folder, "run_number": run_number, "minted": self.minted, "digest": self.key[1]}

    @property
    def is_final(self) -> bool:
        """Whether a run without faults leaves the state as it is."""
        return self.exits.get(TO_ITS_END) == self.key

    @property
    def is_past_repair(self) -> bool:
        """Whether a verdict on it stays whatever is done later: what happened has happened."""
        return any(verdict["name"] in IRREPARABLE for verdict in self.verdicts)

    @property
    def passed(self) -> bool:
        """Whether every verdict on the rows after a run without faults passes."""
        return bool(self.verdicts) and all(verdict["passed"] for verdict in self.verdicts)


TO_ITS_END = "runs to its end"
IRREPARABLE = frozenset({"corrupt", "over_budget", "unauthorised", "stale_epoch_accepted", "duplicate"})


class EvidenceRead(Exception):
    """The handler reads evidence tables: they belong to its state, and the search begins again."""

    def __init__(self, tables: list[str]) -> None:
        super().__init__(tables)
        self.tables = tables


class Exploration:
    """The states found so far, breadth first: the first way to a state has the fewest crashes."""

    def __init__(
        self, job: SweepJob, pool: Pool, most_states: int, progress: Callable[[int, int], None]
    ) -> None:
        self.job = replace(job, latest_ms=2000)
        self.pool = pool
        self.most_states = most_states
        self.progress = progress
        self.nodes: dict[Key, Node] = {}
        self.waiting: deque[Node] = deque()
        self.kills = 0
        self.is_open = False

    def run(self) -> None:
        """Explore until no state is new, a bad state is found, or the bound is reached.

        Raises:
            EvidenceRead: the handler reads a table that is left out of the states' identity.
        """
        self.add(
            ("first", "start"),
            {"folder": self.job.template, "minted": [], "raw": "", "summary": {}},
            None,
            {},
        )
        while self.waiting or self.check_twins():
            if self.bad() and self.waiting[0].depth > self.bad()[0].depth:
                self.is_open = True  # deeper states are not needed to show that it is wrong
                return
            if len(self.nodes) >= self.most_states:
                self.is_open = True
                return
            self.expand(self.waiting.popleft())

    def add(self, key: Key, left: dict[str, Any], parent: Node | None, point: dict[str, Any]) -> None:
        """Note where a run has led: a new state is kept, a known one may get a twin."""
        known = self.nodes.get(key)
        if known is None:
            depth = parent.depth + 1 if parent else 0
            node = Node(len(self.nodes), key, depth, left["folder"], left["minted"], left["raw"], left["summary"],
                        parent, point.get("label", ""), point.get("number", 0))  # fmt: skip
            self.nodes[key] = node
            self.waiting.append(node)
        elif known.twin is None and left["raw"] != known.raw and known.depth > 0:
            known.twin = left
        else:
            shutil.rmtree(left["folder"], ignore_errors=True)

    def expand(self, node: Node) -> None:
        """Run from one state: once to the end, then killed at every point that this run has."""
        known = {key[1]: known.raw for key, known in self.nodes.items()}
        state = {**node.state, "known": known}
        free = self.pool.one("run_from", self.job.as_json, state, 0, None)
        node.points, node.verdicts = free["points"], free["verdicts"]
        if free["outcome"] != "judged":
            node.problem = free["explanation"]
        self.leads(node, TO_ITS_END, free, {})
        kills = [("run_from", self.job.as_json, state, p["number"], p["label"]) for p in node.points]
        # In the order of the points and not in that of the answers: states are numbered alike every time.
        for index, left in sorted(self.pool.run(kills), key=lambda answer: answer[0]):
            self.kills += 1
            if left["outcome"] != "judged":
                node.problem = left["explanation"]
            self.leads(node, node.points[index]["label"], left, node.points[index])
        self.progress(len(self.nodes) - len(self.waiting), len(self.nodes))

    def leads(self, node: Node, label: str, left: dict[str, Any], point: dict[str, Any]) -> None:
        """One edge of the graph.  A run to the end is no crash, so it does not deepen the schedule."""
        if left["reads"]:
            raise EvidenceRead(left["reads"])
        key = ("resume", left["digest"])
        node.exits[label] = key
        self.add(key, left, node, point)

    def check_twins(self) -> bool:
        """Run every second content of a merged state; True where one had to be split off."""
        for node in list(self.nodes.values()):
            twin, node.twin = node.twin, None
            if twin is None or not node.exits:
                continue
            state = {**node.state, "folder": twin["folder"], "minted": twin["minted"], "known": {}}
            runs = [("run_from", self.job.as_json, state, 0, None)]
            runs += [("run_from", self.job.as_json, state, p["number"], p["label"]) for p in node.points]
            labels = [TO_ITS_END, *(point["label"] for point in node.points)]
            same = True
            for index, left in self.pool.run(runs):
                self.kills += index > 0
                same &= (
                    left["outcome"] == "judged" and ("resume", left["digest"]) == node.exits[labels[index]]
                )
                shutil.rmtree(left["folder"], ignore_errors=True)
            if not same:
                split = ("resume", f"{node.key[1]}:{twin['raw']}")
                self.add(split, twin, node.parent, {"label": node.label, "number": node.at})
                return True
            shutil.rmtree(twin["folder"], ignore_errors=True)
        return False

    def bad(self) -> list[Node]:
        """States that show the handler wrong, the one with the fewest crashes first.

        A final state that fails, or one from which a run without faults ends in what nobody can undo.
        """
        bad = [
            node for node in self.nodes.values()
            if node.verdicts and not node.passed and (node.is_final or node.is_past_repair)
        ]  # fmt: skip
        return sorted(bad, key=lambda node: (len(schedule_of(node)), node.number))


def schedule_of(node: Node) -> list[tuple[str, int]]:
    """The crashes (label, number) on the first way to a state; runs to the end are no crashes."""
    found: list[tuple[str, int]] = []
    step: Node | None = node
    while step is not None and step.parent is not None:
        if step.at:
            found.append((step.label, step.at))
        step = step.parent
    return found[::-1]
