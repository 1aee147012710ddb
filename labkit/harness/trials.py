"""One trial: a scenario, one crash, what happens in between, a resume, and the rows at the end."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.harness import worlds
from labkit.harness.child import DEMO_EXIT_CODE, ChildSpec, StopMode
from labkit.harness.launchers import ExecLauncher, Launcher
from labkit.harness.piped import BOUNDARY_DEADLINE_S
from labkit.harness.worlds import WorldSpec
from labkit.observations import Observation, ProcessRun, TrialOutcome, Verdict

Judge = Callable[[Observation], tuple[Verdict, ...]]


@dataclass(frozen=True, slots=True)
class Handler:
    """A worker by place: the function `function` of the Python file `file`."""

    file: Path
    function: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is run: the world it starts in, the first worker, and the one that resumes after a crash.

    `interventions` happen between crash and resume whenever the scenario is swept.
    """

    name: str
    world: WorldSpec
    first: Handler
    resume: Handler
    workflow_id: str = "order-1001"
    interventions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Crash:
    """Where the first run stops and how, and what happens before the resume.

    `boundary=None` lets it run to its end; with `occurrence=2` it stops where it passes the boundary for
    the second time, as the second effect does.  `resumes` is how often the workflow is resumed after it.
    `deadline_s` bounds each wait, for the boundary and for the end of each run.
    """

    boundary: str | None = None
    stop: StopMode = "hold"
    interventions: tuple[str, ...] = ()
    resumes: int = 1
    deadline_s: float = BOUNDARY_DEADLINE_S
    occurrence: int = 1

    @property
    def place(self) -> str:
        """Where the first run stops, for people: `effect.committed`, or `effect.committed 2`."""
        return f"{self.boundary}" if self.occurrence == 1 else f"{self.boundary} {self.occurrence}"


def run_trial(
    scenario: Scenario,
    crash: Crash,
    folder: Path,
    judge: Judge | None = None,
    launcher: Launcher | None = None,
) -> Observation:
    """Run one trial in a new or empty folder and return all that it left behind.

    Raises:
        OutputInUse: the folder holds something.
        HarnessError: a child could not be started or reaped.
    """
    launcher = launcher or ExecLauncher()
    worlds.prepare(folder, scenario.world)
    spec = child_spec(scenario.first, scenario, folder, 1, crash)
    first = run_once(launcher, spec, "first", crash.deadline_s)
    interruption = worlds.snapshot(folder)
    for name in crash.interventions:
        worlds.intervene(folder, name, 1500)
    later = []
    for number in range(2, 2 + crash.resumes):
        spec = child_spec(scenario.resume, scenario, folder, number, None)
        later.append(run_once(launcher, spec, "resume", crash.deadline_s))
    outcome, explanation = _outcome(crash, first, later)
    observation = Observation(
        scenario=scenario.name,
        fault=f"{crash.stop} at {crash.place}" if crash.boundary else "none",
        intents=scenario.world.intents,
        runs=(first, *later),
        interruption=interruption,
        final=worlds.snapshot(folder),
        outcome=outcome,
        explanation=explanation,
        interventions=crash.interventions,
        folder=str(folder),
        rival=scenario.world.rival,
    )
    return replace(observation, verdicts=judge(observation)) if judge and outcome == "judged" else observation


def child_spec(
    handler: Handler, scenario: Scenario, folder: Path, number: int, crash: Crash | None
) -> ChildSpec:
    """The child of run `number`; it stops where the crash says, if it says so."""
    stops = crash is not None and crash.boundary is not None
    return ChildSpec(
        folder=str(folder.absolute()),
        file=str(handler.file.absolute()),
        function=handler.function,
        workflow_id=scenario.workflow_id,
        run_number=number,
        now_ms=number * 1000,
        stop=crash.stop if crash is not None and stops else "never",
        stop_at=crash.boundary if crash is not None and stops else None,
        occurrence=crash.occurrence if crash is not None and stops else 1,
    )


def run_once(
    launcher: Launcher, spec: ChildSpec, role: str, deadline_s: float = BOUNDARY_DEADLINE_S
) -> ProcessRun:
    """Run one child to its end; one that waits at its boundary is sent SIGKILL there.  Raises: HarnessError."""
    with launcher.start(spec) as child:
        if spec.stop == "hold" and child.until_boundary(deadline_s) is not None:
            child.signal(signal.SIGKILL)
        return child.finish(role, deadline_s)


def expected_returncode(crash: Crash) -> int:
    """How a first run that meets this crash must end."""
    if crash.boundary is None or crash.stop == "never":
        return 0
    return DEMO_EXIT_CODE if crash.stop == "exit_86" else -signal.SIGKILL


def _outcome(crash: Crash, first: ProcessRun, later: list[ProcessRun]) -> tuple[TrialOutcome, str]:
    if first.timed_out or any(run.timed_out for run in later):
        return "timed_out", "a run passed its deadline and was killed"
    met = (first.boundary, first.returncode) == (crash.boundary, expected_returncode(crash))
    if crash.boundary and crash.stop != "never" and not met:
        reached = f"reached {first.boundary}" if first.boundary else "reached no such boundary"
        why = f"the first run was to stop at {crash.place}; it {reached} and returned {first.returncode}"
        return "not_killed", why
    return "judged", ""


def remove(folder: Path) -> None:
    """Remove a trial's folder, evidence and all: only for throw-away trials."""
    shutil.rmtree(folder, ignore_errors=True)
