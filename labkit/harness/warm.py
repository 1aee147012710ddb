"""The main program of a warm process: everything imported, nothing open, one task at a time."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.harness.child import die_with_parent
from labkit.harness.jobs import SweepJob
from labkit.harness.tasks import TASKS

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def main() -> None:
    """Serve tasks until the parent closes the socket."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer; it then closes us
    adopt_orphans()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as parent, parent.makefile("rwb") as lines:
        for line in lines:
            name, *arguments = json.loads(line)
            lines.write(json.dumps(perform(name, arguments)).encode() + b"\n")
            lines.flush()


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
        end_orphans()


def adopt_orphans() -> None:
    """On Linux, let grandchildren whose parent was killed become this process's children."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_orphans() -> None:
    """Kill and reap everything that a handler started and left behind, also in a session of its own."""
    tasks = Path(f"/proc/self/task/{os.getpid()}/children")
    while tasks.is_file() and (pids := tasks.read_text().split()):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(int(pid), 0)


if __name__ == "__main__":
    main()
