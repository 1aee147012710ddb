"""The bench's floor does all of the work that it is measured by, or says that it does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from labkit.grading.sweeping import Request, sweep
from labkit.harness import worlds
from labkit.harness.bench.plans import plan_of, run_floor, stops_of, work_of
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool
from labkit.harness.workers import payment
from labkit.harness.worlds import one_charge
from labkit.ui import crash_outcomes


def test_the_floor_kills_resumes_and_reads_and_a_child_that_fails_is_noticed(tmp_path: Path) -> None:
    """A resume after the payment's commit has other SQL than one before it: the wrong one cannot run."""
    file = str(Path(payment.__file__))
    template = worlds.prepare(tmp_path / "template", one_charge())
    job = SweepJob("bench", str(template), str(tmp_path), (file, "pay"), (file, "resume"), judge="")
    plan = {**plan_of(job, tmp_path), "points": [("trial", stop) for stop in (0, 1, 14, 15, 22)]}

    assert len(plan["resumes"]) == 3  # before the first commit, after it, after the second
    seconds = run_floor(plan)
    assert len(seconds) == 5
    assert min(seconds) > 0
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run_floor({**plan, "resumes": plan["resumes"][:1] * 3})
    assert "the child that was to stop at 0 said b'' and ended with 1" in failed.value.stderr


def test_the_floor_of_a_sweep_shares_the_recoveries_that_the_sweep_shares() -> None:
    with Pool(2) as pool:
        swept = sweep(Request(f"{payment.__file__}:pay", resume="resume", points=("statement",)), pool)

    work = work_of(swept)

    assert len(work) == len(swept.points)
    assert [stop for _, stop in work] == stops_of(point.kind for point in swept.points)
    assert sum(what == "trial" for what, _ in work) == swept.recoveries < len(work)


def test_at_depth_two_only_what_was_carried_out_is_its_work() -> None:
    with Pool(2) as pool:
        request = Request(f"{payment.__file__}:pay", resume="resume", points=("boundary",), depth="2")
        swept = sweep(request, pool)

    work = work_of(swept)

    kills = crash_outcomes.kills(swept)
    assert len(swept.points) < kills < len(swept.points) + len(swept.results)
    assert len(work) == kills
    firsts = {result.schedule[0].number for result in swept.results if len(result.same_bytes_as) != 1}
    assert sum(what == "trial" for what, _ in work) == len(firsts) + swept.recoveries


def test_a_crash_point_stops_the_floor_after_the_statements_before_it() -> None:
    assert stops_of(["boundary", "statement", "statement", "boundary", "statement"]) == [1, 1, 1, 2, 2]
