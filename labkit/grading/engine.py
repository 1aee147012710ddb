"""The one engine behind the notebook, the command line and a class: an answer, swept and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.grading.stage import Stage
from labkit.harness import trials, worlds
from labkit.harness.launchers import Launcher
from labkit.harness.trials import Crash, Handler, Scenario
from labkit.observations import CrashPoint, Observation, PointResult, Sweep


def grade(stage: Stage, answer: Path, launcher: Launcher | None = None) -> Sweep:
    """Kill the first worker at each of the kata's boundaries, resume it by the answer, judge the rows.

    `answer` is a Python file with the kata's exercise in it.

    Raises:
        HarnessError: a child could not be started, killed or reaped.
    """
    scenario = stage.exercise(answer)
    points = tuple(
        CrashPoint(number, "boundary", f"{number} {name}", 0)
        for number, name in enumerate(stage.boundaries, 1)
    )
    control = _trial(stage, scenario, (), launcher)
    results = tuple(_trial(stage, scenario, (point,), launcher) for point in points)
    return Sweep(
        scenario=scenario.name,
        fault="kill",
        depth="1",
        first=_place(scenario.first),
        resume=_place(scenario.resume),
        sources={
            handler.file.name: handler.file.read_text(encoding="utf-8")
            for handler in (scenario.first, scenario.resume)
        },
        points=points,
        control=control,
        results=results,
    )


def _trial(
    stage: Stage, scenario: Scenario, schedule: tuple[CrashPoint, ...], launcher: Launcher | None
) -> PointResult:
    boundary = stage.boundaries[schedule[0].number - 1] if schedule else None
    folder = worlds.scratch_folder()
    try:
        seen = trials.run_trial(scenario, Crash(boundary), folder / "world", stage.judge, launcher)
    finally:
        trials.remove(folder)
    return PointResult(
        schedule=schedule,
        outcome=seen.outcome,
        verdicts=seen.verdicts,
        promised=tuple(run.result for run in seen.runs),
        recorded=recorded(seen),
        happened=happened(seen),
        command=seen.runs[0].command,
        explanation=seen.explanation or seen.runs[-1].stderr_tail.strip().rpartition("\n")[2],
    )


def recorded(seen: Observation) -> dict[str, Any]:
    """What the journal says at the end: the number of checkpoints, and each step's state."""
    journal = seen.final["journal"]
    return {
        "checkpoints": len(journal["checkpoints"]),
        "states": {row["step"]: row["state"] for row in journal["operations"]},
    }


def happened(seen: Observation) -> dict[str, int]:
    """What the ledgers say at the end: the number of effects for each intent."""
    return {
        f"{ledger}: {kind} of {subject}": sum(
            row["kind"] == kind and row["subject"] == subject for row in seen.final[ledger]["effects"]
        )
        for ledger, kind, subject in seen.intents
    }


def _place(handler: Handler) -> tuple[str, str]:
    return handler.file.name, handler.function
