"""A script for each failing schedule that runs this one trial again: `lab sweep --reproduce DIR`.

The scripts stand alone: beside them lies the prepared world, and all else that the trial depends on is
written in them.  They need labkit and the handler's own file, since that is what one changes next.
"""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from pprint import pformat

from labkit.harness.jobs import SweepJob
from labkit.observations import PointResult, Sweep
from labkit.ui.sweep_output import labels_of, why

SCRIPT = '''\
#!/usr/bin/env python3
"""{names} of {handler}: {labels}.

{why}

Runs this one trial again, with real kills, in a copy of the folder `world` beside it.  Exit code 0 when
every verdict passes, 1 when it does not.  Needs labkit, and {file}.
"""

import sys
from pathlib import Path

from labkit.harness.reruns import rerun

JOB = {job}

SCHEDULE = {schedule}  # run i is killed at its crash point SCHEDULE[i - 1]

sys.exit(rerun(Path(__file__).parent / "world", JOB, SCHEDULE))
'''


def write_all(folder: Path, job: SweepJob, sweep: Sweep, failing: Sequence[PointResult]) -> None:
    """Write the world and a script for each failing schedule into an empty folder."""
    if job.world == "folder":
        job = replace(job, intents=tuple(("facts", intent, "") for intent in sweep.control.happened))
    shutil.copytree(job.template, folder / "world")
    for result in failing:
        path = folder / f"{name_of(result)}.py"
        with path.open("x", encoding="utf-8") as file:
            file.write(script(job, result))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def name_of(result: PointResult) -> str:
    """`point-006-commit-at-line-31` for one kill, `point-006-004` for two."""
    numbers = "-".join(f"{point.number:03}" for point in result.schedule)
    if len(result.schedule) != 1:
        return f"point-{numbers or 'none'}"
    words = re.sub(r"[^a-z0-9]+", "-", result.schedule[0].label.partition(" ")[2].lower()).strip("-")
    return f"point-{numbers}-{words}"


def script(job: SweepJob, result: PointResult) -> str:
    """The text of one script."""
    file, function = job.first
    values = {key: value for key, value in asdict(job).items() if key not in ("template", "scratch")}
    return SCRIPT.format(
        names=", ".join(result.names),
        handler=f"{Path(file).name}:{function}".removesuffix(":<module>"),
        labels=labels_of(result),
        why=why(result),
        file=file,
        job=pformat({**values, "template": "", "scratch": ""}, width=110, sort_dicts=False),
        schedule=[point.number for point in result.schedule],
    )
