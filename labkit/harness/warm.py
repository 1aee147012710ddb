"""The main program of a warm process: everything imported, nothing open, one task at a time."""

from __future__ import annotations

import ctypes
import gc
import json
import signal
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any

from labkit.errors import LabError
from labkit.harness import launchers
from labkit.harness.child import PR_SET_PDEATHSIG
from labkit.harness.jobs import SweepJob
from labkit.harness.tasks import TASKS

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
IMPORTED_BY_HANDLERS = ("labkit.kata", "labkit.protocol.resume")  # loaded once here, not in every child


def main() -> None:
    """Serve tasks until the parent closes the socket."""
    leave_with_parent()
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer; it then closes us
    for name in IMPORTED_BY_HANDLERS:
        import_module(name)
    gc.freeze()
    with suppress(ConnectionError), socket.socket(fileno=int(sys.argv[1])) as parent:
        lines = parent.makefile("rb")
        for line in lines:
            name, *arguments = json.loads(line)
            parent.sendall(json.dumps(perform(name, arguments)).encode() + b"\n")


def leave_with_parent() -> None:
    """Unwind on SIGTERM, which Linux sends when the parent ends."""
    signal.signal(signal.SIGTERM, leave)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def adopt_orphans() -> None:
    """Where it can be had, a grandchild whose parent was killed becomes a child of ours."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def leave(_number: int, _frame: object) -> None:
    """Unwind whatever is going on: on the way out the child, its session and all orphans are killed."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def perform(name: str, arguments: list[Any]) -> dict[str, Any]:
    """One task: its answer, or the error it raised."""
    try:
        job, *rest = arguments
        return {"answer": TASKS[name](SweepJob.from_json(job), *rest)}
    except LabError as error:
        return {"error": type(error).__name__, "message": error.message, "cure": error.cure}
    except Exception:  # noqa: BLE001  a mistake of ours: the parent reports it as broken infrastructure
        return {"error": "HarnessError", "message": traceback.format_exc(limit=-3), "cure": "report this"}
    finally:
        launchers.end_orphans()


if __name__ == "__main__":
    main()
