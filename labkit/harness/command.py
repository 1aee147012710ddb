"""Children that are unmodified programs: a command line with the world's folder in it.

The crash points are injected from outside (see `injection/sitecustomize.py`).  The command must be
the Python program itself, since it is the started process that dies: not a shell around it, and not
Python with -I, -E or -S, which read no PYTHONPATH.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit.errors import BadHandler, HarnessError
from labkit.harness.child import ChildSpec, die_with_parent
from labkit.harness.launchers import START_ALLOWANCE_S
from labkit.harness.piped import BOUNDARY_DEADLINE_S, PipedChild, Pipes
from labkit.observations import ProcessRun

INJECTION = Path(__file__).parent / "injection"
WORLD = "{world}"  # stands for the world's folder in a command


class CommandLauncher:
    """Starts the command in the world's folder, with the crash points of the child's spec."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def start(self, spec: ChildSpec) -> PipedChild:
        """Start one child.  Only from a single-threaded process.

        Raises:
            BadHandler: there is no such program.
            HarnessError: it could not be started.
        """
        words = [word.replace(WORLD, spec.folder) for word in self.words]
        pipes = Pipes.open()
        report, stdout, stderr, _hold = pipes.childs
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, pass_fds=(report,),
                start_new_session=True, cwd=spec.folder, env=environment(spec, report),
                preexec_fn=die_with_parent,
            )  # fmt: skip
        except OSError as error:
            for fd in (*pipes.childs, *pipes.parents):
                os.close(fd)
            if isinstance(error, (FileNotFoundError, PermissionError)):
                raise BadHandler(f"{words[0]} cannot be run ({error.strerror})", "name a program") from None
            raise HarnessError(f"{words[0]} could not be started ({error})", "check memory") from error
        process.returncode = 0  # PipedChild reaps it, not subprocess
        return CommandChild(spec, process.pid, pipes, START_ALLOWANCE_S, words)


class CommandChild(PipedChild):
    """A started command.  What it promised is the last line that it printed."""

    def __init__(
        self, spec: ChildSpec, pid: int, pipes: Pipes, start_allowance_s: float, words: Sequence[str]
    ) -> None:
        super().__init__(spec, pid, pipes, start_allowance_s)
        self.words = words

    def finish(self, role: str, deadline_s: float = BOUNDARY_DEADLINE_S) -> ProcessRun:
        """Wait for the end, as any child's."""
        run = super().finish(role, deadline_s)
        lines = run.stdout_tail.strip().splitlines()
        promised = lines[-1] if lines and run.returncode == 0 else None
        return replace(run, result=promised, command=shlex.join(self.words))


def environment(spec: ChildSpec, report_fd: int) -> dict[str, str]:
    """The caller's environment with the injection in it; sets are ordered alike in every run."""
    order = {
        "report_fd": report_fd, "file": spec.file, "points": spec.points, "at": spec.at, "fault": spec.fault,
        "seed": spec.seed, "now_ms": spec.now_ms, "evidence": spec.evidence,
    }  # fmt: skip
    paths = [str(INJECTION), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONHASHSEED": "0",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "LABKIT_CRASH_ORDER": json.dumps(order),
    }


def words_of(command: str) -> tuple[str, ...]:
    """The words of a command line; files in it are made absolute, since it runs in another folder.

    Raises:
        BadHandler: the command is empty, or its quotes do not match.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadHandler(f"--command cannot be read ({error})", "close its quotes") from None
    if not words:
        raise BadHandler("--command is empty", "give one like 'python worker.py {world}'")
    return tuple(str(Path(word).absolute()) if Path(word).is_file() else word for word in words)


def program_of(words: Sequence[str]) -> str | None:
    """The first Python file of a command: the one whose lines are crash points."""
    return next((word for word in words[1:] if word.endswith(".py") and Path(word).is_file()), None)
