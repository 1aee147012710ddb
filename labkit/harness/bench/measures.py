"""The measures of DESIGN's table of speed that concern the harness: medians over rounds, as ratios."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from labkit.harness import worlds
from labkit.harness.bench.plans import Work, plan_of, run_floor, stops_of
from labkit.harness.jobs import SweepJob
from labkit.harness.launchers import ExecLauncher
from labkit.harness.pool import Pool
from labkit.harness.workers import payment
from labkit.harness.worlds import one_charge
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action

JUDGE = "labkit.learning.judge:judge"


@dataclass(frozen=True, slots=True)
class Measure:
    """One ratio: labkit's median seconds over the floor's, and the bar it is held to.

    `at_most` or `at_least` is None where the ratio is only reported.
    """

    name: str
    labkit_s: float
    floor_s: float
    ratio: float
    at_most: float | None = None
    at_least: float | None = None
    rounds: int = 0

    @property
    def holds(self) -> bool:
        """Whether the bar is met, also where there is none."""
        above = self.at_least is None or self.ratio >= self.at_least
        return above and (self.at_most is None or self.ratio <= self.at_most)


def measure(name: str, labkit: list[float], base: list[float], **bar: float) -> Measure:
    """A measure from the seconds of labkit's rounds and the floor's, each round beside its twin."""
    ratio = statistics.median(ours / theirs for ours, theirs in zip(labkit, base, strict=True))
    return Measure(
        name, statistics.median(labkit), statistics.median(base), round(ratio, 3), rounds=len(labkit), **bar
    )


class Bench:
    """The prepared world and its recorded SQL, for all measures of one run."""

    def __init__(self, scratch: Path, pool: Pool, rounds: int) -> None:
        self.scratch = scratch
        self.pool = pool
        self.rounds = rounds
        spec = one_charge()
        file = str(Path(payment.__file__))
        self.job = SweepJob(
            scenario="bench", template=str(worlds.prepare(scratch / "template", spec)), scratch=str(scratch),
            first=(file, "pay"), resume=(file, "resume"), judge=JUDGE, intents=spec.intents,
            sources=("boundary", "statement"),
        )  # fmt: skip
        self.control = pool.one("control", self.job.as_json)
        self.stops = stops_of(point["kind"] for point in self.control["points"])
        self.plan = plan_of(self.job, scratch)

    def trials(self, at_most: float) -> Measure:
        """One trial by fork (kill, resume, judge) against the same forks, kills and SQL."""
        ours, base = [], []
        expected = self.control["points"]
        for _ in range(self.rounds):
            base.append(self._floor([("trial", stop) for stop in self.stops]))
            began = time.perf_counter()
            self.pool.one("kill_each", self.job.as_json, expected)
            ours.append((time.perf_counter() - began) / len(self.stops))
        return measure("one trial by fork", ours, base, at_most=at_most)

    def sweep(self, name: str, sweep: Callable[[], list[Work]], at_most: float) -> Measure:
        """A whole sweep, time a kill, against the floor's, on as many processors.

        `sweep` returns what it has done, as the floor does it: runs without a kill, by which it knows
        what it can kill, count as work and not as kills.
        """
        ours, base = [], []
        for _ in range(self.rounds):
            began = time.perf_counter()
            work = sweep()
            seconds = time.perf_counter() - began
            kills = sum(stop > 0 for _, stop in work)
            ours.append(seconds / kills)
            base.append(self._floors_side_by_side(work) / kills)
        return measure(name, ours, base, at_most=at_most)

    def launchers(self) -> Measure:
        """One child by `exec` against one by `fork`: how much slower a fresh interpreter is."""
        ours, base = [], []
        for number in range(self.rounds):
            folder = shutil.copytree(self.job.template, self.scratch / f"exec-{number}")
            began = time.perf_counter()
            with ExecLauncher().start(self.job.spec(folder, 1)) as child:
                child.finish("first")
            ours.append(time.perf_counter() - began)
            base.append(self.pool.one("time_run", self.job.as_json))
        return measure("one child by exec against by fork", ours, base)

    def ledger(self, folder: Path, effects: int, at_least: float) -> Measure:
        """Durable effects a second through the ledger, over the same SQL without labkit's Python.

        `folder` lies on a disk: on tmpfs a commit costs nothing, and no effect would be durable.
        """
        rates, base_rates = [], []
        for number in range(self.rounds):
            seconds, transactions = through_the_ledger(folder / f"ledger-{number}.sqlite3", effects)
            plain = folder / f"plain-{number}.sqlite3"
            Ledger.create(plain, mandate_required=False).db.close()
            plan = {"file": str(plain), "transactions": transactions}
            rates.append(1 / seconds)
            base_rates.append(1 / (sum(run_floor(plan)) / effects))
        return measure("durable effects a second", rates, base_rates, at_least=at_least)

    def _floors_side_by_side(self, work: list[Work]) -> float:
        """The floor's seconds with as many processes as the pool has, each doing its share."""
        shares = [work[number :: self.pool.jobs] for number in range(self.pool.jobs)]
        began = time.perf_counter()
        with ThreadPoolExecutor(self.pool.jobs) as threads:
            plans = [{**self.plan, "points": share} for share in shares]
            starts = [
                max(time.perf_counter() - began - sum(seconds), 0)
                for seconds in threads.map(run_floor, plans)
            ]
        # the floor's interpreters are started anew for each round; the pool's are warm: that is not counted
        return time.perf_counter() - began - min(starts)

    def _floor(self, work: list[Work]) -> float:
        seconds = run_floor({**self.plan, "points": work})
        return sum(seconds) / len(seconds)


def through_the_ledger(path: Path, effects: int) -> tuple[float, list[list[str]]]:
    """Seconds an effect through labkit's ledger, and the SQL that it ran for each."""
    ledger = Ledger.create(path, mandate_required=False)
    actions = [Action("charge", f"order-{number}", 100, "USD") for number in range(effects)]
    began = time.perf_counter()
    for action in actions:
        with atomic(ledger.db):
            ledger.submit(f"{action.subject}:charge", action, 0, 1)
    seconds = (time.perf_counter() - began) / effects
    ledger.db.close()
    return seconds, transactions_of(path.with_suffix(".again"), actions)


def transactions_of(path: Path, actions: list[Action]) -> list[list[str]]:
    """The same once more, traced: the statements of each transaction, values filled in."""
    ledger = Ledger.create(path, mandate_required=False)
    found: list[list[str]] = []
    ledger.db.set_trace_callback(lambda sql: found[-1].append(sql))
    for action in actions:
        found.append([])
        with atomic(ledger.db):
            ledger.submit(f"{action.subject}:charge", action, 0, 1)
    ledger.db.set_trace_callback(None)
    ledger.db.close()
    return found
