"""Looking at a handler's file and preparing its world, in a process of its own.

The file is the user's: it may crash, print, start threads or never end when it is imported, and none
of that may happen in the process that runs the sweep, or in a warm process that is forked later.
`python -m labkit.harness.preparing '{...}'` answers with one JSON object on stdout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from labkit.errors import BadHandler
from labkit.harness import worlds
from labkit.harness.child import die_with_parent
from labkit.harness.identity import Identity
from labkit.harness.loading import load_module
from labkit.harness.trials import Handler, Scenario
from labkit.harness.twists import SECOND_WORKER, twisted
from labkit.harness.worlds import one_charge

DEFAULT_FUNCTION = "handler"
WHOLE_FILE = "<module>"  # Python's own name for the code of a program
DEADLINE_S = 60.0  # for the import and crash_world


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be prepared: the handler's place, the new folder, and how its world is made harder.

    `function` is "" where none was named: then it is `handler`, or those of the file's `crash_scenario`.
    `resume` is (file, function) of the worker that resumes, where it is another one.  `reader` is the
    file with `crash_facts` that goes with a command; a command has no function at all.
    """

    file: str
    function: str
    folder: str
    resume: tuple[str, str] | None = None
    reader: str | None = None
    twists: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a handler's file turned out to be; the names are those of a `SweepJob`."""

    world: Literal["labkit", "folder"]
    first: tuple[str, str]
    resume: tuple[str, str]
    reader: str = ""
    intents: tuple[tuple[str, str, str], ...] = ()
    workflow_id: str = "order-1001"
    identity: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Prepared:
        """From the pipe, where tuples became lists."""
        intents = tuple(tuple(intent) for intent in value["intents"])
        places = {"first": tuple(value["first"]), "resume": tuple(value["resume"])}
        return cls(**{**value, **places, "intents": intents})


def prepare(wanted: Wanted, deadline_s: float = DEADLINE_S) -> Prepared:
    """Have a world prepared in the new folder `wanted.folder`, in a process of its own.

    Raises:
        BadHandler: the file cannot be imported or used, or takes longer than `deadline_s`.
    """
    name = Path(wanted.file).name
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "labkit.harness.preparing", json.dumps(asdict(wanted))],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline_s, check=False,
            start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BadHandler(
            f"{name} was not ready after {deadline_s:g} s", "let its import and crash_world come to an end"
        ) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        words = (done.stderr.strip().splitlines() or ["no word of it"])[-1]
        raise BadHandler(
            f"{name} ended the process that imported it ({done.returncode}: {words})", "let it be imported"
        ) from None
    if "error" in answer:
        raise BadHandler(*answer["error"])
    return Prepared.from_json(answer)


def main() -> None:
    """Entry point of the process: whatever the file prints goes to stderr, the answer to stdout."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    values = json.loads(sys.argv[1])
    resume = tuple(values["resume"]) if values["resume"] else None
    wanted = Wanted(**{**values, "twists": tuple(values["twists"]), "resume": resume})
    try:
        answer = asdict(look_and_prepare(wanted))
    except BadHandler as error:
        answer = {"error": [error.message, error.cure]}
    json.dump(answer, answers)
    answers.flush()
    sys.stdout.flush()
    os._exit(0)  # a thread that the file started does not keep us


def look_and_prepare(wanted: Wanted) -> Prepared:
    """Find out what kind of handler a file holds, and prepare its world.  Raises: BadHandler."""
    reader = Path(wanted.reader or wanted.file)
    module = load_module(reader)
    is_foreign = hasattr(module, "crash_facts")
    if wanted.reader is not None and not is_foreign:
        raise BadHandler(f"{reader.name} has no function `crash_facts`", "write one that reads your rows")
    scenario = None if is_foreign else scenario_of(wanted, module)
    usual = DEFAULT_FUNCTION if wanted.reader is None else WHOLE_FILE
    first = scenario.first if scenario else Handler(Path(wanted.file), wanted.function or usual)
    resume = Handler(Path(wanted.resume[0]), wanted.resume[1]) if wanted.resume else first
    if scenario and not wanted.resume:
        resume = scenario.resume
    if wanted.reader is None:
        for handler in {first, resume}:
            require_function(handler, module if handler.file == reader else load_module(handler.file))
    if scenario is None:
        return prepare_folder(wanted, module, first, resume)
    return prepare_labkit(wanted, scenario, first, resume)


def scenario_of(wanted: Wanted, module: ModuleType) -> Scenario:
    """The file's `crash_scenario`, or one charge by the function that was named.  Raises: BadHandler."""
    file = Path(wanted.file)
    named = Handler(file, wanted.function or DEFAULT_FUNCTION)
    scenario = getattr(module, "crash_scenario", None)
    if scenario is None:
        return Scenario(file.stem, one_charge(), named, named)
    if not isinstance(scenario, Scenario):
        raise BadHandler(
            f"{file.name}: crash_scenario is no Scenario", "make it a labkit.harness.trials.Scenario"
        )
    return replace(scenario, first=named, resume=named) if wanted.function else scenario


def require_function(handler: Handler, module: ModuleType) -> None:
    """Let a module that has the handler's function pass.  Raises: BadHandler."""
    if not callable(getattr(module, handler.function, None)):
        raise BadHandler(
            f"{handler.file.name} has no function `{handler.function}`", "name one as FILE:FUNCTION"
        )


def prepare_folder(wanted: Wanted, module: ModuleType, first: Handler, resume: Handler) -> Prepared:
    """A handler that gets a folder: its own `crash_world` prepares it.  Raises: BadHandler."""
    reader = Path(wanted.reader or wanted.file)
    if set(wanted.twists) - {SECOND_WORKER}:
        raise BadHandler(
            f"{reader.name} has a world of its own, which --world cannot change",
            f"change it in crash_world; only {SECOND_WORKER} goes with any world",
        )
    Path(wanted.folder).mkdir(parents=True)
    if hasattr(module, "crash_world"):
        try:
            module.crash_world(Path(wanted.folder))
        except Exception as error:
            raise BadHandler(f"{reader.name}: crash_world failed ({error!r})", "mend it") from error
    return Prepared(
        "folder", place_of(first), place_of(resume), str(reader), identity=identity_of(module, reader)
    )


def place_of(handler: Handler) -> tuple[str, str]:
    """A handler as a job names it."""
    return str(handler.file.absolute()), handler.function


def identity_of(module: ModuleType, reader: Path) -> dict[str, list[str]]:
    """What a file declares as `crash_identity`, checked.  Raises: BadHandler."""
    declared: Mapping[str, list[str]] = getattr(module, "crash_identity", {})
    try:
        Identity.from_json(dict(declared))
        return {name: sorted(values) for name, values in declared.items()}
    except (TypeError, ValueError, AttributeError):
        raise BadHandler(
            f"{reader.name} declares crash_identity={declared!r}",
            "give lists of names under fencing, evidence and derived",
        ) from None


def prepare_labkit(wanted: Wanted, scenario: Scenario, first: Handler, resume: Handler) -> Prepared:
    """A handler that gets a labkit World, of the scenario and with the twists that were asked for."""
    spec = twisted(scenario.world, wanted.twists)
    worlds.prepare(Path(wanted.folder), spec)
    return Prepared(
        "labkit", place_of(first), place_of(resume), intents=spec.intents, workflow_id=scenario.workflow_id
    )


if __name__ == "__main__":
    main()
