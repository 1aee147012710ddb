"""One trial again, outside of any sweep: what the scripts of `lab sweep --reproduce` call."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.harness.jobs import SweepJob
from labkit.harness.tasks import kill_schedule


def rerun(template: Path, job: Mapping[str, Any], schedule: Sequence[int]) -> int:
    """Run one schedule in a copy of a prepared world, print its three columns, return the exit code.

    0: every verdict passes; 1: it does not, or could not be judged.  Only from a single-threaded process.

    Raises:
        HarnessError: a child could not be started or reaped.
    """
    with tempfile.TemporaryDirectory(prefix="lab-rerun-") as scratch:
        there = replace(SweepJob.from_json(dict(job)), template=str(template), scratch=scratch)
        found = kill_schedule(there, list(schedule))
    for point in found["schedule"]:
        print(
            f"killed at  {point['label']}" if there.fault == "kill" else f"{there.fault} at {point['label']}"
        )
    print(f"returned   {found['returncodes']}")
    for column in ("promised", "recorded", "happened"):
        print(f"{column:10} {json.dumps(found[column])}")
    for verdict in found["verdicts"]:
        print(f"{verdict['name']}: {verdict['because']}")
    if found["outcome"] != "judged":
        print(f"{found['outcome']}: {found['explanation']}")
    passed = found["outcome"] == "judged" and all(verdict["passed"] for verdict in found["verdicts"])
    return 0 if passed else 1
