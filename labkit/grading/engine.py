"""The one engine behind the notebook, the command line and a class: an answer, swept and judged."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from labkit.grading.stage import Stage
from labkit.harness import sweeps, worlds
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool
from labkit.harness.sweeps import Progress, quietly
from labkit.harness.trials import Handler, Scenario
from labkit.observations import Sweep

CLOSED_SET = "labkit.learning.judge:judge"


def grade(
    stage: Stage, answer: Path, depth: str = "1", pool: Pool | None = None, progress: Progress = quietly
) -> Sweep:
    """Kill the kata's exercise at every crash point with the answer in it, resume it, judge the rows.

    `answer` is a Python file with the exercise's function; `depth` is `1`, `2` or `all`.

    Raises:
        BadHandler: the answer cannot be loaded, or has no crash point.
        HarnessError: a child could not be started, killed or reaped; nothing is scored.
    """
    with sweeps.scratch() as scratch, nullcontext(pool) if pool else Pool() as workers:
        job = job_of(stage, stage.exercise(answer), Path(scratch))
        return sweeps.sweep(job, workers, depth, progress)


def job_of(stage: Stage, scenario: Scenario, scratch: Path) -> SweepJob:
    """The sweep of one scenario of a kata, its world prepared below `scratch`."""
    template = worlds.prepare(scratch / "template", scenario.world)
    own_judge = stage.kata.folder / "checks.py"
    return SweepJob(
        scenario=scenario.name,
        template=str(template),
        scratch=str(scratch),
        first=_place(scenario.first),
        resume=_place(scenario.resume),
        judge=f"{own_judge.absolute()}:judge" if stage.has_own_judge else CLOSED_SET,
        intents=scenario.world.intents,
        workflow_id=scenario.workflow_id,
        interventions=scenario.interventions,
    )


def _place(handler: Handler) -> tuple[str, str]:
    return str(handler.file.absolute()), handler.function
