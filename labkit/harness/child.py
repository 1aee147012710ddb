"""What runs in the process that gets killed.

`python -m labkit.harness.child '{...}'` loads one handler from a file, gives it the world in a
folder, and prints what it returns.  Started by hand it runs alone; started by a launcher it reports
boundaries on a pipe.  Exit codes: 0 returned, the error's own for a labkit error, 1 for any other.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from labkit.boundaries import Boundary
from labkit.errors import LabError
from labkit.harness import determinism, rivals
from labkit.harness.crashpoints import CrashPoints, Report, report_to
from labkit.harness.loading import load
from labkit.harness.world import World
from labkit.stores import sqlite

DEMO_EXIT_CODE = 86
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

StopMode = Literal["never", "hold", "kill_self", "exit_86"]


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child: which handler, in which world, and where it stops.

    `stop` says how it stops at the boundary `stop_at`: `hold` reports it and waits to be killed,
    `kill_self` sends itself SIGKILL, `exit_86` leaves at once without any clean-up.
    `occurrence` counts: with 2, it stops where that boundary is passed for the second time.
    """

    folder: str
    file: str
    function: str
    workflow_id: str = "order-1001"
    run_number: int = 1
    stop: StopMode = "never"
    stop_at: str | None = None
    occurrence: int = 1
    points: tuple[str, ...] = ()
    at: int = 0
    fault: str = "kill"
    seed: str = ""
    now_ms: int = 1000
    world: Literal["labkit", "folder"] = "labkit"
    busy_timeout_s: float = 5.0
    evidence: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The shell line that runs this child again, by hand."""
        # dataclasses.asdict would copy each value, once a run
        by_hand = {name: getattr(self, name) for name in self.__slots__}
        if self.stop == "hold":
            by_hand["stop"] = "kill_self"
        return f"python -m labkit.harness.child '{json.dumps(by_hand)}'"


def main() -> None:
    """Entry point of a fresh interpreter."""
    spec = ChildSpec(**json.loads(sys.argv[1]))
    report_fd, hold_fd = (int(text) for text in sys.argv[2:4]) if len(sys.argv) > 2 else (-1, -1)
    die_with_parent()
    leave_if_abandoned(hold_fd)
    report_to(report_fd)({"started": True})
    sys.exit(run(spec, report_fd, hold_fd))


def run(spec: ChildSpec, report_fd: int = -1, hold_fd: int = -1, code: CodeType | None = None) -> int:
    """Run the handler to its end and return the exit code; the handler may of course not come back.

    `code` is its file's, where whoever started this process has just compiled it.
    """
    report = report_to(report_fd)
    points = CrashPoints(spec.file, spec.points, spec.at, spec.fault, report)
    points.evidence = frozenset(spec.evidence)
    try:
        if spec.seed:
            determinism.install(spec.seed, spec.now_ms, report)
        handler = load(Path(spec.file), spec.function, code)
        given = world_of(spec, points, hold_fd)
        points.install()
        returned = handler(given)
        rivals.finish(given)
        points.boundary("returned")
        points.check()
        result = jsonable(returned)
    except LabError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_code
    except Exception:  # noqa: BLE001  whatever a handler raises is its own affair: say so and exit 1
        traceback.print_exc()
        return 1
    report({"result": result})
    print(json.dumps(result), flush=True)
    return 0


def world_of(spec: ChildSpec, points: CrashPoints, hold_fd: int) -> Any:
    """What the handler is given: a World that announces its boundaries, or the folder's path."""
    folder = Path(spec.folder)
    if spec.world == "folder":
        return folder
    passed: list[str] = []

    def reached(boundary: Boundary) -> None:
        points.boundary(boundary)
        passed.append(boundary)
        if (boundary, passed.count(boundary)) == (spec.stop_at, spec.occurrence) and spec.stop != "never":
            stop_here(spec.stop, boundary, points.report, hold_fd)

    sqlite.BUSY_TIMEOUT_S = spec.busy_timeout_s
    world = World(folder, spec.workflow_id, spec.run_number, f"worker-{spec.run_number}", reached)
    world.now_ms, world.statement = spec.now_ms, points.statement
    if spec.stop == "never":
        world.free = points.ahead
    if "reply" in spec.points:
        world.is_lost = points.reply
    world.rival = rivals.beside(spec, world.rival_workflow, run)
    return world


def stop_here(mode: StopMode, boundary: str, report: Report, hold_fd: int) -> None:
    """Stop at a boundary.  Only `hold` can come back: when the harness lets go of the child."""
    report({"boundary": boundary})
    if mode == "kill_self":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "exit_86":
        os._exit(DEMO_EXIT_CODE)
    if os.read(hold_fd, 1) == b"":  # end of file: the harness is gone, and so is this trial
        os._exit(1)


def jsonable(value: Any) -> Any:
    """What a handler returned, as plain JSON; frozen values become objects, anything else its text."""
    if hasattr(value, "__dataclass_fields__"):
        value = asdict(value)
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return repr(value)


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends; elsewhere the pipe's end of file has to do."""
    if _prctl is not None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def leave_if_abandoned(hold_fd: int) -> None:
    """End here where the parent ended before it could be watched: its end of the pipe is closed."""
    if hold_fd < 0:  # started by hand
        return
    poll = select.poll()
    poll.register(hold_fd, 0)  # a hang-up is always reported
    if poll.poll(0):
        os._exit(1)


if __name__ == "__main__":
    main()
