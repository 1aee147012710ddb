"""A kata's two modules, loaded and checked: what it runs, and how its rows are read.

`scenario.py` gives `RUNS` (name -> scenario and crash), `BOUNDARIES` (the numbered boundaries of its
story) and `exercise(answer)`; `checks.py` gives `CONTRACT` (run -> verdict), `observed(runs)` and,
where the closed set of verdicts does not say it all, a `judge(observation)` of its own.  A scenario
with `LEDGER_INSIDE = True` has the learner write the provider's side: its ledger cannot be served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.boundaries import Boundary
from labkit.errors import BadKata, UnknownName
from labkit.harness.known import Known
from labkit.harness.launchers import Launcher
from labkit.harness.trials import Crash, Judge, Scenario, run_trial
from labkit.learning import judge as rows
from labkit.learning import katas
from labkit.learning.check import Checked, Observed, Runs, compare, contract_of
from labkit.learning.katas import Kata
from labkit.learning.predict import Prediction
from labkit.observations import Observation


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that a kata puts on the stage."""

    kata: Kata
    runs: Mapping[str, tuple[Scenario, Crash]]
    boundaries: tuple[Boundary, ...]
    exercise: Callable[[Path], Scenario]
    observed: Callable[[Runs], dict[str, Observed]]
    contract: Mapping[str, str]
    judge: Judge
    ledger_inside: bool = False
    draws: tuple[tuple[int, int], ...] = ()  # a learner's own pairs of crashes, see harness/drawn.py
    known: Known = field(default_factory=dict)  # of the kata's own worker, where that is the first run

    @property
    def has_own_judge(self) -> bool:
        """Whether the kata's checks.py judges, instead of the closed set alone."""
        return self.judge is not rows.judge

    def kills(self, name: str) -> bool:
        """Whether a run kills a process, and so stands behind the prediction.  Raises: UnknownName."""
        return self._run(name)[1].boundary is not None

    def run(self, name: str, folder: Path, launcher: Launcher | None = None) -> Observation:
        """Carry out one run in a new folder.

        Raises:
            UnknownName: the kata has no such run.
            HarnessError: a child could not be started, killed or reaped.
        """
        scenario, crash = self._run(name)
        return run_trial(scenario, crash, folder, self.judge, launcher)

    def check(self, prediction: Prediction, runs: Runs) -> Checked:
        """Put a prediction beside what the runs recorded.

        Raises:
            UnknownName: a run has not been carried out yet.
        """
        self.require_all(runs)
        return compare(self.kata, prediction, self.observed(runs), contract_of(self.contract, runs))

    def require_all(self, runs: Runs) -> None:
        """Ask for the runs first.  Raises: UnknownName: one has not been carried out yet."""
        if missing := [name for name in self.runs if name not in runs]:
            raise UnknownName(f"run {missing[0]} has not been carried out", "run the cells above first")

    def _run(self, name: str) -> tuple[Scenario, Crash]:
        if name not in self.runs:
            raise UnknownName(
                f"kata {self.kata.slug} has no run {name}", f"choose one of {', '.join(self.runs)}"
            )
        return self.runs[name]


def load_stage(kata: Kata) -> Stage:
    """Load a kata's scenario and checks.

    Raises:
        BadKata: a file cannot be imported, or lacks one of its names.
    """
    scenario = katas.load_module(kata, "scenario")
    checks = katas.load_module(kata, "checks")
    runs: Mapping[str, tuple[Scenario, Crash]] = _need(kata, scenario, "RUNS", Mapping)
    contract: Mapping[str, str] = _need(kata, checks, "CONTRACT", Mapping)
    if odd := sorted(set(contract) - set(runs)):
        raise BadKata(f"{kata.slug}/checks.py CONTRACT names the run {odd[0]}", "name one of scenario.RUNS")
    return Stage(
        kata=kata,
        runs=runs,
        boundaries=_need(kata, scenario, "BOUNDARIES", tuple),
        exercise=_need(kata, scenario, "exercise", Callable),
        observed=_need(kata, checks, "observed", Callable),
        contract=contract,
        judge=getattr(checks, "judge", rows.judge),
        ledger_inside=bool(getattr(scenario, "LEDGER_INSIDE", False)),
    )


def _need(kata: Kata, module: ModuleType, name: str, kind: Any) -> Any:
    found = getattr(module, name, None)
    if not isinstance(found, kind):
        file = module.__name__.rpartition("_")[2]
        raise BadKata(f"{kata.slug}/{file}.py lacks `{name}`", "define it; katas/README.md says what it is")
    return found
