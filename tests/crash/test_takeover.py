"""Two workers on one workflow: really alive at the same time, each held and released at its boundary."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.harness.child import ChildSpec
from labkit.harness.launchers import ExecLauncher
from labkit.harness.piped import PipedChild
from labkit.harness.trials import Handler, child_spec
from labkit.harness.worlds import prepare, snapshot
from labkit.learning.judge import judge
from labkit.observations import Observation, ProcessRun, Snapshot

Start = Callable[..., PipedChild]


@pytest.fixture
def world(tmp_path: Path, scenarios: Any) -> Path:
    """The prepared world of the whole protocol."""
    return prepare(tmp_path / "world", scenarios.protocol.world)


@pytest.fixture
def start(world: Path, scenarios: Any) -> Iterator[Start]:
    """Starts run `number` of the protocol and, where it is to be held, waits until it is there."""
    with ExitStack() as children:

        def started(number: int, hold_at: Boundary | None = None, **more: Any) -> PipedChild:
            handler: Handler = scenarios.protocol.first if number == 1 else scenarios.protocol.resume
            spec = child_spec(handler, scenarios.protocol, world, number, None)
            spec = ChildSpec(
                **{**vars_of(spec), "stop": "hold" if hold_at else "never", "stop_at": hold_at, **more}
            )
            child = children.enter_context(ExecLauncher().start(spec))
            if hold_at:
                assert hold_at == child.until_boundary()
            return child

        yield started


def vars_of(spec: ChildSpec) -> dict[str, Any]:
    """A spec's fields."""
    return {name: getattr(spec, name) for name in spec.__dataclass_fields__}


def released(child: PipedChild) -> ProcessRun:
    """Let a held child go on, and wait for its end."""
    child.release()
    return child.finish("released")


def verdicts(world: Path, scenarios: Any, runs: int) -> list[str]:
    """What the judge says of the rows as they stand."""
    none = ProcessRun("any", "", 0, 0, None, None, "", "", 0.0)
    intents = scenarios.protocol.world.intents
    observation = Observation("protocol", "takeover", intents, (none,) * runs, None, snapshot(world))
    return [verdict.name for verdict in judge(observation)]


def moved(rows: Snapshot) -> tuple[int, int, list[str]]:
    """Effects, checkpoints, states."""
    journal = rows["journal"]
    return (
        len(rows["payments"]["effects"]),
        len(journal["checkpoints"]),
        [row["state"] for row in journal["operations"]],
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a store's write lock, as a backup or another program might."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


def test_the_slow_worker_is_refused_where_the_effect_is(world: Path, start: Start, scenarios: Any) -> None:
    """Its claim was good when it last looked; the successor has only announced itself, and that is enough."""

    slow = start(1, Boundary.DISPATCHED)
    successor = start(2, Boundary.CLAIMED)
    late = released(slow)
    between = moved(snapshot(world))
    last = released(successor)

    assert late.returncode == 1
    assert "StaleClaim: the provider knows a newer epoch for order-1001: stop" in late.stderr_tail
    assert between == (0, 0, ["EFFECT_PENDING"])
    assert (last.returncode, last.result) == (0, "OUTCOME_VERIFIED")
    assert moved(snapshot(world)) == (1, 1, ["OUTCOME_VERIFIED"])
    assert verdicts(world, scenarios, 2) == ["exactly_one"]


def test_the_slow_worker_that_had_paid_may_not_record_it(world: Path, start: Start, scenarios: Any) -> None:
    """Its effect stands and is found by the successor; what it still wants to write is refused."""

    slow = start(1, Boundary.EFFECT_COMMITTED)
    successor = start(2).finish("resume")
    late = released(slow)

    assert (successor.returncode, successor.result) == (0, "OUTCOME_VERIFIED")
    assert (late.returncode, "StaleClaim" in late.stderr_tail) == (1, True)
    assert moved(snapshot(world)) == (1, 1, ["OUTCOME_VERIFIED"])
    assert verdicts(world, scenarios, 2) == ["exactly_one"]


def test_of_two_resumers_the_later_claim_wins_and_the_earlier_writes_nothing(
    world: Path, start: Start, scenarios: Any
) -> None:
    """Recovery that was launched twice runs once: both are alive, one holds the epoch."""

    start(1, Boundary.DISPATCHED).finish("killed", 0.0)
    first, second = start(2, Boundary.CLAIMED), start(3, Boundary.CLAIMED)
    refused, done = released(first), released(second)

    assert (refused.returncode, "StaleClaim" in refused.stderr_tail) == (1, True)
    assert (done.returncode, done.result) == (0, "OUTCOME_VERIFIED")
    assert moved(snapshot(world)) == (1, 1, ["OUTCOME_VERIFIED"])
    assert len(snapshot(world)["journal"]["recovery_receipts"]) == 1
    assert verdicts(world, scenarios, 3) == ["exactly_one"]


def test_the_same_owner_that_comes_back_is_another_incarnation(world: Path, start: Start) -> None:
    """Every claim of every run has a number of its own, rising."""

    start(1, Boundary.DISPATCHED).finish("killed", 0.0)
    for number in (2, 3):
        assert start(number).finish("resume").returncode == 0
    claims = [row for row in snapshot(world)["journal"]["events"] if row["kind"] == "claimed"]
    epochs = [int(row["body"].split('"epoch":')[1].split(",")[0].rstrip("}")) for row in claims]

    assert epochs == [1, 2, 3]
    assert snapshot(world)["payments"]["fences"][0]["highest_epoch"] == 3


@pytest.mark.parametrize("store", ["journal.sqlite3", "ledger.sqlite3", "authority.sqlite3"])
def test_a_recovery_that_met_a_locked_store_can_be_run_again(
    world: Path, start: Start, scenarios: Any, store: str
) -> None:
    """It says so and stops, exit 3; it does not swallow the error and leave the workflow pending for ever."""

    start(1, Boundary.DISPATCHED).finish("killed", 0.0)
    with locked(world / store):
        failed = start(2, busy_timeout_s=0.1).finish("resume")
    again = start(3).finish("resume")

    assert failed.returncode == 3
    assert failed.stderr_tail.startswith(f"StoreLocked: {world / store} is locked by another process")
    assert (again.returncode, again.result) == (0, "OUTCOME_VERIFIED")
    assert verdicts(world, scenarios, 3) == ["exactly_one"]


def test_when_only_the_acknowledgement_failed_only_that_is_done_again(
    world: Path, start: Start, scenarios: Any
) -> None:
    """The effect is there and its record could not be written: the resume records it and calls nothing."""

    worker = start(1, Boundary.EFFECT_COMMITTED, busy_timeout_s=0.1)
    with locked(world / "journal.sqlite3"):
        failed = released(worker)
    calls = len(snapshot(world)["payments"]["invocations"])
    resumed = start(2).finish("resume")
    after = snapshot(world)

    assert (failed.returncode, failed.stderr_tail.startswith("StoreLocked")) == (3, True)
    assert (resumed.returncode, resumed.result) == (0, "OUTCOME_VERIFIED")
    assert (calls, len(after["payments"]["invocations"])) == (1, 1)
    assert moved(after) == (1, 1, ["OUTCOME_VERIFIED"])
    assert verdicts(world, scenarios, 2) == ["exactly_one"]
