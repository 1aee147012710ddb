"""`lab bench`: what a class costs, against the same kills without labkit and against nbgrader's autograde."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import HarnessError
from labkit.grading import confinement, engine, variants
from labkit.grading.sandbox import SandboxedPool
from labkit.grading.stage import load_stage
from labkit.harness.bench.measures import Measure, measure
from labkit.harness.bench.plans import CONTROLS, plan_of, run_floor, work_of
from labkit.harness.known import known_from
from labkit.learning import katas as series
from labkit.ui import editions
from labkit.ui.bench_nbgrader import Course

KATA = "k03"
LEARNERS = 60  # of each command, so that its start is shared among as many on both sides
BARS = {1: 3.0, 2: 5.0}  # processes -> how much faster a submission than nbgrader's


def floor_measure(rounds: int, scratch: Path) -> Measure:
    """One submission in a learner's world in the sandbox, against its kills and SQL without labkit."""
    own = load_stage(series.find(KATA))
    answer = write_answer(scratch / "answers" / f"{own.kata.slug}.py")
    ours, base = [], []
    with SandboxedPool(confinement.choose("auto"), 1) as pool:
        shown = known_from(engine.grade(own, answer, pool=pool))  # as a class does once
        stage = replace(variants.staged(own, variants.variant_of("one", KATA, "bench")), known=shown)
        swept = engine.grade(stage, answer, pool=pool)
        job = engine.job_of(stage, stage.exercise(answer), scratch)
        work = work_of(swept)
        plan = {**plan_of(job, scratch), "points": [*CONTROLS[:1], *work]}
        for _ in range(rounds):
            base.append(sum(run_floor(plan)))
            began = time.perf_counter()
            engine.grade(stage, answer, pool=pool)
            ours.append(time.perf_counter() - began)
    return measure(f"a submission in the sandbox, {len(work)} kills", ours, base)


def nbgrader_measures(rounds: int, scratch: Path, programs: Path) -> Iterator[Measure]:
    """Submissions a second by `lab grade`, over those of `nbgrader autograde`, whole commands both.

    Raises:
        HarnessError: one of the two failed.
    """
    course = Course(scratch / "course", programs, LEARNERS)
    class_of(scratch / "class")
    rates: dict[int, list[float]] = {jobs: [] for jobs in BARS}
    theirs: list[float] = []
    for number in range(rounds):
        theirs.append(1 / course.autograde())
        for jobs, found in rates.items():
            found.append(1 / graded(scratch / "class", scratch / f"grades-{number}-{jobs}", jobs))
    for jobs, found in rates.items():
        name = f"submissions a second against nbgrader, --jobs {jobs}"
        yield measure(name, found, theirs, at_least=BARS[jobs])


def class_of(folder: Path) -> None:
    """A class of right answers, each in a world of its own."""
    for number in range(LEARNERS):
        write_answer(folder / f"learner-{number}" / f"{KATA}.py")


def write_answer(path: Path) -> Path:
    """The lesson's own solution as an answer file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    [cell] = [cell for cell in editions.lesson(series.find(KATA)).cells if "exercise" in cell.metadata.tags]
    path.write_text(str(cell.source) + "\n", encoding="utf-8")
    return path


def graded(folder: Path, out: Path, jobs: int) -> float:
    """The seconds of one submission in a whole `lab grade`.  Raises: HarnessError: not all are right."""
    words = [sys.executable, "-m", "labkit.ui.cli", "grade", str(folder), "--out", str(out), "--kata", KATA]
    began = time.perf_counter()
    done = subprocess.run(
        [*words, "--jobs", str(jobs), "--json"], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 1) or right_in(done.stdout) != LEARNERS:
        why = (done.stderr.strip().splitlines() or ["not every answer was found right"])[-1][:200]
        raise HarnessError(f"lab grade failed in the bench ({why})", "run `lab grade` by hand")
    return seconds / LEARNERS


def right_in(text: str) -> int:
    """How many learners have everything that the exercise is worth."""
    import json

    found: dict[str, Any] = json.loads(text)
    marks = [mark for learner in found["learners"] for mark in learner["katas"].values()]
    return sum(mark["exercise"] == mark["possible"] - mark["possible"] // 5 for mark in marks)
