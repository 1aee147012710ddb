"""Depth `all`: every durable state that crashes can reach, by exhaustion with real kills.

A run is a function of the state it starts from.  So from each distinct state the handler is killed
at every one of its points; the states that this leaves are added, until none is new.  A handler whose
exploration closes without a bad final state is right for *any* number of crashes at these points.  A
wrong one shows a bad final state, with the shortest crash schedule that leads there, or keeps
growing and is reported open at a stated bound.

States are told apart by `identity`, which leaves some things out; so where two different contents
were merged, the second is run as well, and split off where it goes on differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from labkit.harness.exploration import (
    MOST_STATES,
    TO_ITS_END,
    EvidenceRead,
    Exploration,
    Key,
    Node,
    schedule_of,
)
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool


def explore(
    job: SweepJob, pool: Pool, progress: Callable[[int, int], None], most_states: int = MOST_STATES
) -> dict[str, Any]:
    """The crash graph of a handler, as plain JSON.

    Keys: `closed`, `bound`, `states`, `edges`, `kills`, `bad_finals`, `schedule` (labels), `command`,
    `problems`, `concrete` (evidence tables that the handler reads, which therefore count).

    Raises:
        BadHandler, HarnessError: as a sweep does.
    """
    try:
        exploration = Exploration(job, pool, most_states, progress)
        exploration.run()
    except EvidenceRead as found:
        concrete = (*job.concrete, *found.tables)
        return explore(replace(job, concrete=concrete), pool, progress, most_states)
    nodes = list(exploration.nodes.values())
    bad = exploration.bad()
    schedule = schedule_of(bad[0]) if bad else None
    problems = [f"state {node.number}: {node.problem}" for node in nodes if node.problem]
    return {
        "closed": not exploration.is_open and not problems,
        "bound": most_states,
        "states": [state_json(node) for node in nodes],
        "edges": edges_of(exploration.nodes),
        "kills": exploration.kills,
        "bad_finals": [node.number for node in bad],
        "schedule": [label for label, _ in schedule] if schedule is not None else None,
        "command": command(job, [number for _, number in schedule]) if schedule is not None else None,
        "problems": problems,
        "concrete": list(job.concrete),
    }


def state_json(node: Node) -> dict[str, Any]:
    """One state as plain JSON."""
    return {
        "id": node.number,
        "role": node.key[0],
        "depth": len(schedule_of(node)),
        "summary": node.summary,
        "points": len(node.points),
        "verdicts": [verdict["name"] for verdict in node.verdicts],
        "because": [verdict["because"] for verdict in node.verdicts],
        "final": node.is_final,
        "passed": node.passed,
    }


def edges_of(nodes: dict[Key, Node]) -> list[dict[str, Any]]:
    """The edges between states, the points of each pair together."""
    merged: dict[tuple[int, int, str], list[str]] = {}
    for node in nodes.values():
        for label, key in node.exits.items():
            if key in nodes:
                kind = "run" if label == TO_ITS_END else "kill"
                merged.setdefault((node.number, nodes[key].number, kind), []).append(label)
    return [
        {"from": source, "to": target, "kind": kind, "points": labels}
        for (source, target, kind), labels in merged.items()
    ]


def command(job: SweepJob, numbers: list[int]) -> str:
    """The shell line that repeats a schedule."""
    at = ",".join(map(str, numbers)) or "0"
    asked = job.asked or f"lab sweep {job.first[0]}:{job.first[1]} --fault {job.fault}"
    return f"{asked} --at {at}"
