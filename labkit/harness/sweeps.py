"""The sweep: a handler killed for real at every crash point, resumed, and judged by its rows.

A sweep must not flatter.  The fault-free run is repeated and must agree; every kill is verified by
signal and label; a handler without crash points, or one that writes where the sweep cannot see, is
a problem and never a pass; at least one crash must leave work for the recovery.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import BadHandler, BadOption
from labkit.harness import closure, drawn, every_point, known
from labkit.harness.answers import Answer
from labkit.harness.controls import problems_of
from labkit.harness.every_point import Progress as Progress
from labkit.harness.every_point import quietly as quietly
from labkit.harness.folders import memory_folder
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool
from labkit.harness.specs import describe
from labkit.observations import CrashPoint, Observation, PointResult, ProcessRun, Sweep, Trial, Verdict


def sweep(job: SweepJob, pool: Pool, depth: str = "1", progress: Progress = quietly) -> Sweep:
    """Sweep one handler at depth `1` (kill once), `2` (kill the resume as well, every pair) or `all`.

    `all` is depth 1, and then every durable state that any number of crashes can reach (`closure`).

    Raises:
        BadHandler: no crash points, or the handler cannot be loaded.
        HarnessError: the infrastructure broke; nothing is scored.
    """
    controls = fault_free_runs(job, pool)
    require_visible(job, controls[0])
    job = replace(with_intents_of(job, controls[0]), witness=controls[0]["witness"])
    points = tuple(CrashPoint(**point) for point in controls[0]["points"])
    problems = problems_of(controls)
    answers: list[Answer] = []
    graph: dict[str, Any] | None = None
    if controls[0]["returncode"] == 0 and not controls[0]["timed_out"]:
        answers = at_every_point(job, pool, depth, controls[0]["points"], progress)
        if not any(answer["recovery_worked"] for answer in answers):
            problems.append("the recovery did nothing, whatever the crash: the sweep shows nothing about it")
        if depth == "all":
            graph = closure.explore(job, pool, progress)
    return Sweep(
        scenario=job.scenario,
        fault=job.fault,
        depth=depth,
        first=job.first,
        resume=job.resume,
        sources={file: Path(file).read_text(encoding="utf-8") for file in {job.first[0], job.resume[0]}},
        points=points,
        control=result_of(job, controls[0]),
        results=tuple(result_of(job, answer) for answer in answers),
        problems=tuple(problems),
        closure=graph,
    )


def fault_free_runs(job: SweepJob, pool: Pool) -> list[Answer]:
    """Two of them; one of a worker that goes the way which is known of it, and is seen to at each kill."""
    given = job.as_json
    if job.known:
        control = pool.one("control", given)
        if known.between(job.known, control["points"]):
            return [control]
    return [answer for _, answer in pool.run([("control", given)] * 2)]


def at_every_point(
    job: SweepJob, pool: Pool, depth: str, points: list[dict[str, Any]], progress: Progress
) -> list[Answer]:
    """Every schedule of the depth, in order, and after depth `1` the job's own pairs of crashes."""
    if depth == "2":
        return every_point.twice(job, pool, points, progress).in_order(points)
    found = every_point.once(job, pool, points, progress)
    return found.in_order(points) + drawn.pairs(job, pool, points, found)


def repeat(job: SweepJob, pool: Pool, schedule: Sequence[int]) -> PointResult:
    """One schedule by itself: run i meets the fault at its point `schedule[i - 1]`; empty: no fault.

    Raises:
        As `trial`.
    """
    return trial(job, pool, schedule).result


def trial(job: SweepJob, pool: Pool, schedule: Sequence[int]) -> Trial:
    """The same schedule, with all that was seen of it.

    Raises:
        BadOption: the run without faults has no point of the first number.
        BadHandler, HarnessError: as a sweep.
    """
    control = pool.one("control", job.as_json)
    require_visible(job, control)
    if schedule and not 1 <= schedule[0] <= len(control["points"]):
        raise BadOption(
            f"there is no point {schedule[0]}",
            f"choose from 1 to {len(control['points'])}, as the sweep shows",
        )
    job = replace(with_intents_of(job, control), witness=control["witness"])
    answer = pool.one("kill_schedule", job.as_json, list(schedule))
    points = tuple(CrashPoint(**point) for point in control["points"])
    source = Path(job.first[0]).read_text(encoding="utf-8")
    return Trial(result_of(job, answer), points, source, observation_of(job, answer))


def require_visible(job: SweepJob, control: dict[str, Any]) -> None:
    """Let a handler pass of which the sweep sees anything at all.  Raises: BadHandler."""
    name = f"{Path(job.first[0]).name}:{job.first[1]}".removesuffix(":<module>")
    if control["returncode"] != 0:
        return  # it fails by itself, which is a problem of its own
    if job.fault == "lost_reply" and not control["points"]:
        raise BadHandler(f"{name} has no reply to lose", "let it call a provider of its labkit World")
    if job.command and not control["started"]:
        raise BadHandler(f"{name} did not load the crash points", "start python itself, without -I, -E or -S")
    if not control["points"]:
        raise BadHandler(
            f"{name} has no crash point that this sweep can see",
            "let it use SQLite in this process, announce boundaries, or sweep its lines",
        )
    if job.world == "folder" and control["unreadable"]:
        raise BadHandler(control["unreadable"], "mend the reader, or prepare what it reads in crash_world")


def with_intents_of(job: SweepJob, control: dict[str, Any]) -> SweepJob:
    """The job with the intents that the reader finds after a fault-free run: none may go missing later."""
    if job.world == "labkit":
        return job
    return replace(job, intents=tuple(("facts", intent, "") for intent in control["happened"]))


def result_of(job: SweepJob, answer: dict[str, Any]) -> PointResult:
    """A warm process's answer as a frozen value."""
    schedule = tuple(CrashPoint(**point) for point in answer["schedule"])
    return PointResult(
        schedule=schedule,
        outcome=answer["outcome"],
        verdicts=tuple(Verdict(**verdict) for verdict in answer["verdicts"]),
        promised=tuple(answer["promised"]),
        recorded=answer["recorded"],
        happened=answer["happened"],
        command=closure.command(job, [point.number for point in schedule]),
        explanation=answer["explanation"],
        same_bytes_as=tuple(answer.get("same_bytes_as", ())),
        is_killed=answer.get("is_killed", True),
    )


def observation_of(job: SweepJob, answer: dict[str, Any]) -> Observation | None:
    """What was seen of one schedule; None where it could not be judged, or the rows are not labkit's."""
    seen = answer.get("seen")
    if seen is None or job.world != "labkit":
        return None
    runs = tuple(ProcessRun(**run) for run in seen["runs"])
    verdicts = tuple(Verdict(**verdict) for verdict in answer["verdicts"])
    return Observation(
        job.scenario, seen["fault"], job.intents, runs, seen["interruption"], seen["final"],
        interventions=job.interventions if answer["schedule"] else (), verdicts=verdicts,
        rival=describe(Path(job.template))["rival"],
    )  # fmt: skip


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for a sweep's worlds, on tmpfs where there is one."""
    return tempfile.TemporaryDirectory(prefix="lab-", dir=memory_folder())
