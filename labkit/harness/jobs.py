"""What a sweep asks of a warm process, and what it gets back: plain JSON both ways."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from labkit import canonical
from labkit.errors import BadHandler, BadKata
from labkit.harness.child import ChildSpec
from labkit.harness.identity import LABKIT, Identity
from labkit.harness.launchers import ForkLauncher, Launcher
from labkit.harness.loading import load_module
from labkit.harness.remains import copied
from labkit.observations import Observation, Verdict

Judge = Callable[[Observation], tuple[Verdict, ...]]
Fault = Literal["kill", "pause", "lost_reply", "term"]
ALL_SOURCES = ("boundary", "statement", "line")
DURABLE = ("boundary", "statement")  # where a durable state begins or ends; lines lie between


@dataclass(frozen=True, slots=True)
class SweepJob:
    """One handler to be swept: where it starts, which two functions, which fault, who judges.

    `template` is a prepared world, cloned for every trial into a folder below `scratch`.
    `judge` is a reference, `module:function` or `FILE.py:function`, to a function from an
    Observation to verdicts.  `world="folder"` is for handlers that get just a path; their rows are
    read by the function `crash_facts` of the file `reader`.  `latest_ms` stops the runs' clock there
    (0: run n happens at n seconds), so that a state is not a new one only because it is later.
    `identity` is what the reader declares about states, `concrete` names evidence tables that the
    handler was seen to read and that are therefore none, `command` the words of an unmodified program
    that runs instead of the functions; with `rival` two workers resume side by side.  `asked` is the
    shell line that asked for the sweep, `witness` what was seen of the fault-free run from outside,
    `known` which crashes of the first worker leave the same bytes, see `harness.known`.
    """

    scenario: str
    template: str
    scratch: str
    first: tuple[str, str]
    resume: tuple[str, str]
    judge: str
    intents: tuple[tuple[str, str, str], ...] = ()
    workflow_id: str = "order-1001"
    sources: tuple[str, ...] = ALL_SOURCES
    fault: Fault = "kill"
    interventions: tuple[str, ...] = ()
    world: Literal["labkit", "folder"] = "labkit"
    reader: str = ""
    seed: str = "1"
    deadline_s: float = 5.0
    most_resumes: int = 4
    latest_ms: int = 0
    identity: dict[str, list[str]] = field(default_factory=dict)
    concrete: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    rival: bool = False
    asked: str = ""
    sandbox: dict[str, Any] = field(default_factory=dict)
    witness: dict[str, Any] = field(default_factory=dict)
    draws: tuple[tuple[int, int], ...] = ()  # see `drawn`
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def launcher(self) -> Launcher:
        """What starts the job's children."""
        if self.sandbox:
            found: Launcher = importlib.import_module(self.sandbox["by"]).launcher(self.sandbox)
            return found
        if self.command:
            from labkit.harness.command import CommandLauncher  # loads subprocess: see launchers

            return CommandLauncher(self.command)
        return ForkLauncher()

    @property
    def identity_of_states(self) -> Identity:
        """How two durable states of this job's worlds are told apart."""
        usual = LABKIT if self.world == "labkit" else Identity.from_json(self.identity)
        return replace(usual, evidence=usual.evidence - set(self.concrete))

    @property
    def as_json(self) -> dict[str, Any]:
        """For the pipe, without what is known: who carries out a crash takes nothing for known."""
        return asdict(replace(self, known={}))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SweepJob:
        """From the pipe, where tuples became lists."""
        tuples: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in value.items()
        }
        return replace(cls(**tuples), intents=tuple(tuple(intent) for intent in value["intents"]))

    def spec(self, folder: Path, run_number: int, at: int = -1, state: str = "") -> ChildSpec:
        """The child of run `run_number`: the first worker, then the resuming one.

        `at=-1` traces nothing, 0 counts the crash points, a number brings the fault there.
        Chance in the child is a function of the run's number, and of the `state` that it starts from where
        states are explored: no two runs of one schedule draw alike.
        """
        file, function = self.first if run_number == 1 else self.resume
        sources = ("reply",) if self.fault == "lost_reply" else self.sources
        return ChildSpec(
            folder=str(folder),
            file=file,
            function=function,
            workflow_id=self.workflow_id,
            run_number=run_number,
            points=() if at < 0 else sources,
            at=max(at, 0),
            fault=self.fault,
            seed=canonical.digest([self.seed, state, run_number]),
            now_ms=min(run_number * 1000, self.latest_ms or run_number * 1000),
            world=self.world,
            evidence=() if at < 0 else tuple(sorted(self.identity_of_states.evidence)),
            busy_timeout_s=0.2 if self.fault == "pause" else 5.0,
        )


def clone(template: str | Path, scratch: str | Path) -> Path:
    """A fresh copy of a world, with the journals that a killed writer may have left beside its stores."""
    folder = Path(tempfile.mkdtemp(prefix="world-", dir=scratch))
    copied(template, folder)
    return folder


def load_judge(reference: str) -> Judge:
    """The judge behind a reference.  Raises: BadHandler."""
    place, _, name = reference.rpartition(":")
    module = load_module(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    judge = getattr(module, name, None)
    if not callable(judge):
        raise BadHandler(f"{place} has no judge `{name}`", "name one as MODULE:FUNCTION or FILE.py:FUNCTION")

    def judged(observation: Observation) -> tuple[Verdict, ...]:
        try:
            return judge(observation)  # type: ignore[no-any-return]
        except Exception as error:
            raise BadKata(
                f"{Path(place).name}:{name} fails on rows that it was given ({error!r})",
                "mend the judge: whatever rows a worker leaves, they have a verdict",
            ) from error

    return judged
