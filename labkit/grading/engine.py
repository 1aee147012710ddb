"""The one engine behind the notebook, the command line and a class: an answer, swept and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from labkit.grading.sandbox import sandboxed, scratch_of
from labkit.grading.stage import Stage
from labkit.harness import sweeps, worlds
from labkit.harness.jobs import DURABLE, SweepJob
from labkit.harness.pool import Pool
from labkit.harness.sweeps import Progress, quietly
from labkit.harness.trials import Handler, Scenario
from labkit.learning.katas import Kata
from labkit.learning.places import relative
from labkit.observations import PointResult, Sweep, Trial

CLOSED_SET = "labkit.learning.judge:judge"


def grade(
    stage: Stage, answer: Path, depth: str = "1", pool: Pool | None = None, progress: Progress = quietly
) -> Sweep:
    """Kill the kata's exercise at every crash point with the answer in it, resume it, judge the rows.

    `answer` is a Python file with the exercise's function; `depth` is `1`, `2` or `all`.  Deeper than
    once, lines are no crash points: a state begins and ends at statements, and pairs of lines only
    repeat pairs of them.  The stage's own pairs of crashes are tried after depth `1`.  Where a kata's own
    worker runs first, and it is known which of its crashes leave the same bytes (`harness.known`), it is
    killed at the first and the last of those only.

    Raises:
        BadHandler: the answer cannot be loaded, or has no crash point.
        HarnessError: a child could not be started, killed or reaped; nothing is scored.
    """
    with _prepared(stage, answer, pool) as (job, workers):
        job = for_once(job, stage, answer) if depth == "1" else replace(job, sources=DURABLE)
        swept = sweeps.sweep(job, workers, depth, progress)
    if depth != "1":  # numbered without lines, which `lab trial` counts: no command repeats them
        return replace(swept, results=tuple(replace(result, command="") for result in swept.results))
    return replace(
        swept,
        control=_repeatable(stage.kata, answer, swept.control),
        results=tuple(_repeatable(stage.kata, answer, result) for result in swept.results),
    )


def repeat(stage: Stage, answer: Path, schedule: Sequence[int], pool: Pool | None = None) -> PointResult:
    """One trial of the kata's exercise: run i is killed at its point `schedule[i - 1]`; empty: no kill.

    Raises:
        As `trial`.
    """
    return trial(stage, answer, schedule, pool).result


def trial(stage: Stage, answer: Path, schedule: Sequence[int], pool: Pool | None = None) -> Trial:
    """The same trial with all that was seen of it: the processes, and the rows at the kill and at the end.

    Raises:
        BadOption: there is no such crash point.
        BadHandler, HarnessError: as a sweep.
    """
    with _prepared(stage, answer, pool) as (job, workers):
        found = sweeps.trial(job, workers, schedule)
    return replace(found, result=_repeatable(stage.kata, answer, found.result))


def for_once(job: SweepJob, stage: Stage, answer: Path) -> SweepJob:
    """The job with the stage's own pairs of crashes, and what is known of a first run that is not the answer's."""
    theirs = job.first[0] == str(answer.absolute())
    return replace(job, draws=stage.draws, known={} if theirs else stage.known)


@contextmanager
def _prepared(stage: Stage, answer: Path, pool: Pool | None) -> Iterator[tuple[SweepJob, Pool]]:
    with scratch_of(pool) as scratch, nullcontext(pool) if pool else Pool() as workers:
        job = job_of(stage, stage.exercise(answer), Path(scratch))
        yield sandboxed(job, workers, stage.ledger_inside), workers


def _repeatable(kata: Kata, answer: Path, result: PointResult) -> PointResult:
    """A kata's trial is repeated by the kata's name: its world is made by `scenario.py`."""
    at = ",".join(str(point.number) for point in result.schedule) or "0"
    learners = answer.name == f"{kata.slug}.py" and answer.parent.name == "answers"
    whose = "" if learners else f" --answer {relative(answer)}"
    return replace(result, command=f"lab trial {kata.slug} --at {at}{whose}")


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
