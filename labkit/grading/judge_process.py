"""A process that judges: one thread, one sandboxed pool, one answer at a time.

A grader has as many of them as it has jobs, and each thread of a Dask worker has one: who asks has other
things to do meanwhile, and forking and killing want a process with one thread.  It ends with who has
started it, when that closes the socket, and when nobody asks for a while.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.grading import confinement, grounds
from labkit.grading.judging import Judge, Ran, Task
from labkit.grading.sandbox import SandboxedPool
from labkit.harness.warm import leave_with_parent
from labkit.learning import katas
from labkit.learning.katas import Kata

IDLE_S = 30.0
MOST_RESULT_BYTES = 64 * 1024 * 1024


def request(task: Task, kata: Kata, sandbox: str, named_level: str, scratch: str = "") -> dict[str, Any]:
    """What such a process is asked: a task, and on which ground and in which sandbox it is to be judged.

    Its throw-away files lie below `scratch`, a folder that is there; where none is named, in one of its own.
    """
    return {
        "task": task.as_json,
        "ground": grounds.ground([kata]),
        "sandbox": sandbox,
        "named_level": named_level,
        "scratch": scratch,
    }


class Judging:
    """What is kept between tasks: the sandboxed pool, and each kata's stage as long as its files stay."""

    def __init__(self) -> None:
        self.open = ExitStack()
        self._pools: dict[str, SandboxedPool] = {}
        self._judges: dict[str, Judge] = {}

    def judge(self, asked: dict[str, Any]) -> Ran:
        """Judge one task, or refuse it where this is other ground than the grader's."""
        task = Task.from_json(asked["task"])
        kata = katas.find(task.kata)
        here = grounds.ground([kata])
        if different := grounds.difference(asked["ground"], here):
            return Ran("refused", different)
        wanted = str(asked["sandbox"])
        if wanted not in self._pools:
            place = Path(asked["scratch"]) / f"judge-{os.getpid()}" if asked["scratch"] else None
            pool = SandboxedPool(confinement.choose(wanted), 1, place=place)
            self._pools[wanted] = self.open.enter_context(pool)
        if self._pools[wanted].named_level != asked["named_level"]:
            return Ran("refused", f"the sandbox is {self._pools[wanted].named_level}")
        key = json.dumps([wanted, here])
        if key not in self._judges:
            self._judges[key] = Judge(self._pools[wanted], [kata])
        return self._judges[key].judge(task)


def main() -> None:
    """Serve tasks until the other side closes the socket or none has come for a while."""
    leave_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends who has started us, and that ends us
    judging = Judging()
    with judging.open:
        with suppress(ConnectionError, TimeoutError), socket.socket(fileno=int(sys.argv[1])) as asker:
            asker.settimeout(IDLE_S)
            for line in asker.makefile("rb"):
                _name, asked = json.loads(line)
                asker.sendall(json.dumps({"answer": answer_to(judging, asked)}).encode() + b"\n")
        signal.signal(
            signal.SIGTERM, signal.SIG_IGN
        )  # a second reason to end must not cut the clean-up short


def answer_to(judging: Judging, asked: dict[str, Any]) -> str:
    """What became of one task, as text of bounded length, whatever happens."""
    try:
        ran = judging.judge(asked)
    except LabError as error:
        ran = Ran("refused", error.message)
    except Exception:  # noqa: BLE001  a mistake of ours, or of the machine: no score
        ran = Ran("infra_error", traceback.format_exc(limit=-1).strip().splitlines()[-1][:200])
    text = json.dumps(asdict(ran))
    if len(text) > MOST_RESULT_BYTES:
        text = json.dumps(asdict(Ran("infra_error", f"the result has {len(text)} bytes")))
    return text


if __name__ == "__main__":
    main()
