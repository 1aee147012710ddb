"""Depth `all`: what exhaustion shows of right handlers, and finds in wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.harness import worlds
from labkit.harness.closure import explore
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool
from labkit.harness.sweeps import quietly
from labkit.harness.workers import mutant_new_key, payment
from labkit.harness.worlds import one_charge

PLANTED = Path(__file__).with_name("planted")
CLOSED_SET = "labkit.learning.judge:judge"
Explore = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as warm:
        yield warm


@pytest.fixture
def exploring(pool: Pool, tmp_path: Path) -> Explore:
    """Explores one handler, or a first one and the one that resumes; statements and boundaries only."""

    def explored(
        first: Path, function: str, resume: tuple[Path, str] | None = None, **more: Any
    ) -> dict[str, Any]:
        spec = one_charge()
        template = worlds.prepare(tmp_path / "template", spec)
        job = SweepJob(
            scenario="closure",
            template=str(template),
            scratch=str(tmp_path),
            first=(str(first), function),
            resume=(str(resume[0]), resume[1]) if resume else (str(first), function),
            judge=CLOSED_SET,
            intents=spec.intents,
            sources=("boundary", "statement"),
        )
        return explore(job, pool, quietly, **more)

    return explored


def test_a_right_handler_closes_and_is_right_for_any_number_of_crashes(exploring: Explore) -> None:
    """The two-commit payment has few states, none of them bad, and every final one has one effect."""
    graph = exploring(Path(payment.__file__), "pay", (Path(payment.__file__), "resume"))
    finals = [state for state in graph["states"] if state["final"]]

    assert graph["closed"]
    assert graph["bad_finals"] == []
    assert graph["problems"] == []
    assert graph["schedule"] is None
    assert len(graph["states"]) <= 8
    assert finals
    assert {(*state["verdicts"], state["summary"]["charge order-1001"]) for state in finals} == {
        ("exactly_one", 1)
    }
    # each state but one was really killed at each of its points, and the merged ones from both contents
    assert graph["kills"] >= sum(state["points"] for state in graph["states"])


def test_every_kill_of_every_state_is_an_edge_of_the_graph(exploring: Explore) -> None:
    """Nothing is left out of the picture: as many crash points on the edges as the states have."""
    graph = exploring(Path(payment.__file__), "pay", (Path(payment.__file__), "resume"))

    for state in graph["states"]:
        leaving = [edge for edge in graph["edges"] if edge["from"] == state["id"]]
        killed = [label for edge in leaving if edge["kind"] == "kill" for label in edge["points"]]
        assert len(killed) == len(set(killed)) == state["points"]
        assert sum(edge["kind"] == "run" for edge in leaving) == 1


def test_a_new_key_handler_shows_a_bad_final_state_one_crash_away(exploring: Explore) -> None:
    """The shortest schedule is the one crash after the ledger's commit."""
    graph = exploring(Path(payment.__file__), "pay", (Path(mutant_new_key.__file__), "resume"))
    bad = next(state for state in graph["states"] if state["id"] == graph["bad_finals"][0])

    assert not graph["closed"]
    assert bad["verdicts"] == ["duplicate"]
    assert [label.split(" ", 1)[1] for label in graph["schedule"]] == ["effect.committed at line 15"]
    assert graph["command"].endswith("--at " + graph["schedule"][0].split()[0])


def test_a_duplicate_that_needs_three_crashes_is_found_with_its_shortest_schedule(exploring: Explore) -> None:
    """Depth 2 kills at most twice and cannot reach it; exhaustion does, and names three crashes."""
    graph = exploring(PLANTED / "third_time.py", "handler")
    bad = next(state for state in graph["states"] if state["id"] == graph["bad_finals"][0])

    assert bad["verdicts"] == ["duplicate"]
    assert len(graph["schedule"]) == 3


def test_a_handler_that_persists_a_random_key_before_it_pays_closes(exploring: Explore) -> None:
    """An opaque value is named by first appearance, so a right handler does not grow for ever."""
    graph = exploring(PLANTED / "random_key.py", "handler")

    assert graph["closed"]
    assert graph["bad_finals"] == []


def test_evidence_that_a_handler_reads_is_part_of_its_state(exploring: Explore) -> None:
    """A handler that decides by the events it wrote is not merged into a right one: the duplicate shows."""
    graph = exploring(PLANTED / "reads_evidence.py", "handler")
    verdicts = {name for state in graph["states"] for name in state["verdicts"]}

    assert graph["concrete"] == ["events"]
    assert not graph["closed"]
    assert graph["bad_finals"]
    assert "duplicate" in verdicts
    assert len(graph["schedule"]) == 3


def test_a_handler_whose_state_grows_is_reported_open_at_the_bound(exploring: Explore) -> None:
    """It is not called right: the bound is stated instead."""
    graph = exploring(PLANTED / "ever_growing.py", "handler", most_states=9)

    assert not graph["closed"]
    assert graph["bound"] == 9
    assert len(graph["states"]) >= 9
    assert graph["bad_finals"] == []
