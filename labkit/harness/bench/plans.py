"""The floor's plan: a job's SQL as its own children run it, and the process without labkit that runs it too."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from labkit.harness.bench import floor
from labkit.harness.bench.recording import statements_of
from labkit.harness.jobs import SweepJob
from labkit.harness.snapshots import read_tables, store_files
from labkit.observations import PointResult, Sweep

Work = tuple[str, int]  # `kill` or `trial`, and after how many statements it is killed; 0: it is not
CONTROLS: list[Work] = [
    ("trial", 0)
] * 2  # the fault-free runs before a sweep, and what is resumed after each


def plan_of(job: SweepJob, scratch: Path) -> dict[str, Any]:
    """The SQL of a job's first run, of the resume after each of its commits, and of reading all rows."""
    folder = shutil.copytree(job.template, scratch / "record-first")
    first = recorded(replace(job, seed="1"), folder, 1)
    stores = store_files(folder)
    return {
        "template": job.template,
        "scratch": str(scratch),
        "first": first,
        "resumes": [
            resume_after(job, scratch / f"record-resume-{number}", first, number)
            for number in range(floor.commits_in(first) + 1)
        ],
        "read": statements_of(lambda: [read_tables(store.path, store.schema) for store in stores]),
    }


def resume_after(
    job: SweepJob, folder: Path, first: list[floor.Statement], commits: int
) -> list[floor.Statement]:
    """The SQL of a resume in a new folder where the first run died after so many commits."""
    shutil.copytree(job.template, folder)
    done = [number for number in range(len(first) + 1) if floor.commits_in(first[:number]) == commits]
    floor.in_child(folder, first[: done[0]], 0)
    return recorded(job, folder, 2)


def stops_of(kinds: Iterable[str]) -> list[int]:
    """How many statements have run when each crash point is reached; at least one, as 0 is no stop."""
    before = itertools.accumulate((kind == "statement" for kind in kinds), initial=0)
    return [max(number, 1) for number in before][:-1]


def work_of(sweep: Sweep) -> list[Work]:
    """What a sweep has done, as the floor does it: every kill, and the recoveries that were not shared.

    The floor knows the SQL of a first run only: the second kills of a pair are some of the first ones again.
    """
    stops = stops_of(point.kind for point in sweep.points)
    alone = [result for result in sweep.results if len(result.schedule) == 1]
    pairs = [one for one in sweep.results if len(one.schedule) == 2 and len(one.same_bytes_as) != 1]
    recovered = {numbers_of(one)[0] for one in alone or pairs if not (alone and one.same_bytes_as)}
    spared = {numbers_of(one)[0] for one in alone if not one.is_killed}
    once = [
        ("trial" if n in recovered else "kill", stop)
        for n, stop in enumerate(stops, start=1)
        if n not in spared
    ]
    again = zip(pairs, itertools.cycle(stops), strict=False)
    return once + [("kill" if result.same_bytes_as else "trial", stop) for result, stop in again]


def numbers_of(result: PointResult) -> tuple[int, ...]:
    """A schedule by its points' numbers."""
    return tuple(point.number for point in result.schedule)


def recorded(job: SweepJob, folder: Path, run_number: int) -> list[list[str]]:
    """The statements that one run executes, from a process of its own."""
    spec = json.dumps(asdict(job.spec(folder, run_number)))
    done = subprocess.run(
        [sys.executable, "-I", "-m", "labkit.harness.bench.recording", spec],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[list[str]] = json.loads(done.stdout)
    return found


def run_floor(plan: dict[str, Any]) -> list[float]:
    """Let the floor do its work in a process without labkit."""
    done = subprocess.run(
        [sys.executable, "-I", str(Path(floor.__file__))],
        input=json.dumps(plan),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds: list[float] = json.loads(done.stdout)
    return seconds
