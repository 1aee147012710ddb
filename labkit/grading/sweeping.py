"""From what a person asks to the sweep of it: the one way behind `lab sweep` and the pytest fixture.

A handler's file is looked at in a process of its own (`harness.preparing`), which says whether it gets
a labkit World or a folder.  Accordingly its rows are judged.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from labkit.errors import BadHandler, BadOption
from labkit.harness import sweeps, twists
from labkit.harness.command import program_of, words_of
from labkit.harness.jobs import ALL_SOURCES, Fault, SweepJob
from labkit.harness.pool import Pool
from labkit.harness.preparing import Wanted, prepare
from labkit.harness.sweeps import Progress, quietly
from labkit.observations import PointResult, Sweep

JUDGES = {"labkit": "labkit.learning.judge:judge", "folder": "labkit.learning.judge_facts:judge"}
DEPTHS = ("1", "2", "all")


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be swept, and how.

    `target` is FILE or FILE:FUNCTION, `resume` another FUNCTION or FILE:FUNCTION for the resuming
    worker.  With `command` the program is that command line, its rows are read by `crash_facts` of
    the file `facts`, and `target` may name the file whose lines are crash points.
    """

    target: str = ""
    resume: str = ""
    command: str = ""
    facts: str = ""
    points: tuple[str, ...] = ALL_SOURCES
    depth: str = "1"
    fault: Fault = "kill"
    world: tuple[str, ...] = ()
    deadline_s: float = 5.0
    seed: str = "1"

    def __post_init__(self) -> None:
        require_one_of("--depth", (self.depth,), DEPTHS)
        require_one_of("--fault", (self.fault,), get_args(Fault))
        require_one_of("--points", self.points, ALL_SOURCES)
        twists.require_known(self.world)
        if not self.points:
            raise BadOption("--points is empty", f"choose from {', '.join(ALL_SOURCES)}")
        if not 0 < self.deadline_s <= MOST_DEADLINE_S:
            raise BadOption(
                f"--deadline is {self.deadline_s:g}",
                f"give seconds, more than 0 and at most {MOST_DEADLINE_S}",
            )
        if bool(self.command) != bool(self.facts):
            raise BadOption(
                "--command and --facts go together", "give both: a command and a file with crash_facts"
            )
        if not self.command and not self.target:
            raise BadOption("nothing to sweep", "name FILE:FUNCTION, or give --command and --facts")
        if self.depth == "all" and (self.fault != "kill" or twists.SECOND_WORKER in self.world):
            raise BadOption("--depth all explores kills of one worker", "leave --fault and second_worker out")

    @property
    def words(self) -> str:
        """The shell line that asks for this again, up to the depth."""
        words = ["lab", "sweep"]
        usual = Request("x")
        for option, given, default in (
            ("", self.target, ""), ("--resume", self.resume, ""), ("--command", self.command, ""),
            ("--facts", self.facts, ""), ("--points", ",".join(sorted(self.points)), ",".join(sorted(usual.points))),
            ("--world", ",".join(self.world), ""), ("--deadline", f"{self.deadline_s:g}", f"{usual.deadline_s:g}"),
            ("--seed", self.seed, usual.seed), ("--fault", self.fault, ""),
        ):  # fmt: skip
            if given != default:
                words += [option, given] if option else [given]
        return shlex.join(words)


MOST_DEADLINE_S = 600


def require_one_of(option: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    """Let known values pass.  Raises: BadOption."""
    for value in given:
        if value not in allowed:
            raise BadOption(f"{option} {value} is not known", f"choose from {', '.join(allowed)}")


def place_of(target: str, usual_function: str = "") -> tuple[str, str]:
    """FILE:FUNCTION as (absolute file, function).  Raises: BadHandler."""
    file, colon, function = target.rpartition(":")
    if not colon:
        file, function = target, usual_function
    if not Path(file).is_file():
        raise BadHandler(f"{file} is missing", "name a Python file as FILE or FILE:FUNCTION")
    return str(Path(file).absolute()), function


def wanted_of(request: Request, folder: Path) -> tuple[Wanted, tuple[str, ...]]:
    """What has to be prepared for a request, and the words of its command.  Raises: BadHandler."""
    words = words_of(request.command) if request.command else ()
    if words:
        file = place_of(request.target)[0] if request.target else program_of(words)
        if file is None:
            raise BadHandler(
                "--command names no Python file", "name the one whose lines are crash points before --command"
            )
        return Wanted(file, "", str(folder), reader=place_of(request.facts)[0]), words
    file, function = place_of(request.target)
    resume = None
    if request.resume:
        resume = place_of(request.resume) if ":" in request.resume else (file, request.resume)
    return Wanted(file, function, str(folder), resume, twists=request.world), words


def job_of(request: Request, scratch: Path) -> SweepJob:
    """The job that a request comes to, its world prepared below `scratch`.

    Raises:
        BadHandler: the handler's file, or its reader's, cannot be used.
    """
    wanted, words = wanted_of(request, scratch / "template")
    prepared = prepare(wanted)
    return SweepJob(
        scenario=Path(wanted.file).stem,
        template=wanted.folder,
        scratch=str(scratch),
        first=prepared.first,
        resume=prepared.resume,
        judge=JUDGES[prepared.world],
        intents=prepared.intents,
        workflow_id=prepared.workflow_id,
        sources=request.points,
        fault=request.fault,
        interventions=twists.between(request.world),
        world=prepared.world,
        reader=prepared.reader,
        identity=prepared.identity,
        seed=request.seed,
        deadline_s=request.deadline_s,
        command=words,
        rival=twists.SECOND_WORKER in request.world,
        asked=request.words,
    )


@contextmanager
def prepared_job(request: Request) -> Iterator[SweepJob]:
    """A job whose world is gone afterwards.  Raises: BadHandler."""
    with sweeps.scratch() as scratch:
        yield job_of(request, Path(scratch))


def sweep(request: Request, pool: Pool, progress: Progress = quietly) -> Sweep:
    """Sweep what was asked for.

    Raises:
        BadHandler: it cannot be loaded, or has no crash point.
        HarnessError: the infrastructure broke; nothing is scored.
    """
    with prepared_job(request) as job:
        return sweeps.sweep(job, pool, request.depth, progress)


def repeat(request: Request, schedule: Sequence[int], pool: Pool) -> PointResult:
    """Repeat one schedule: run i is killed at its point `schedule[i - 1]`; none for the fault-free run.

    Raises:
        BadOption: a point's number is below 1.
        BadHandler, HarnessError: as a sweep.
    """
    if any(number < 1 for number in schedule):
        raise BadOption("--at counts points from 1", "give numbers that the sweep shows, such as --at 4,2")
    with prepared_job(request) as job:
        return sweeps.repeat(job, pool, schedule)
