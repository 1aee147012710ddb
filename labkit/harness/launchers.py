"""Two ways to start the child that gets killed; the observations are the same.

`exec` starts a fresh interpreter: slow, and free of anything that the parent holds.  `fork` copies
this process: fast, and only right where this process is single-threaded and holds no connection,
which is what `labkit.harness.pool` keeps warm processes for.

Neither `threading` nor `subprocess`, which imports it, is loaded with this module: what threading does
after each fork would cost every child as much as its start does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import CodeType
from typing import NoReturn, Protocol

from labkit.errors import BadHandler, HarnessError
from labkit.harness import child
from labkit.harness.child import ChildSpec
from labkit.harness.loading import compiled
from labkit.harness.piped import PipedChild, Pipes

SANDBOXES: set[int] = set()  # children of this process that are no trial's and serve for many
START_ALLOWANCE_S = 10.0  # a fresh interpreter on a busy machine, before the worker's own deadline counts


class Launcher(Protocol):
    """How children are started."""

    def start(self, spec: ChildSpec) -> PipedChild:
        """Start one child.  Raises: HarnessError."""


class ExecLauncher:
    """Children in fresh, isolated interpreters."""

    def start(self, spec: ChildSpec) -> PipedChild:
        """Start one child.  Raises: HarnessError."""
        import subprocess  # not in a warm process

        pipes = Pipes.open()
        report, stdout, stderr, hold = pipes.childs
        arguments = [json.dumps(asdict(spec)), str(report), str(hold)]
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-m", "labkit.harness.child", *arguments],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                pass_fds=(report, hold), start_new_session=True, cwd=spec.folder,
            )  # fmt: skip
        except OSError as error:
            for fd in (*pipes.childs, *pipes.parents):
                os.close(fd)
            raise HarnessError(
                f"no child could be started ({error})", "check processes and memory"
            ) from error
        process.returncode = 0  # PipedChild reaps it, not subprocess
        return PipedChild(spec, process.pid, pipes, START_ALLOWANCE_S)


class ForkLauncher:
    """Children as copies of this process.

    Raises:
        HarnessError: at every start in a process with more than one thread, since a lock that
            another thread holds would stay locked in the child for ever.
    """

    def start(self, spec: ChildSpec) -> PipedChild:
        """Start one child.  Raises: HarnessError."""
        require_single_thread()
        code = None
        with suppress(BadHandler):  # the child will say what is wrong with it
            code = compiled(Path(spec.file))
        pipes = Pipes.open()
        pid = os.fork()
        if pid == 0:
            become_child(spec, pipes, code)
        return PipedChild(spec, pid, pipes)


def require_single_thread() -> None:
    """Refuse to fork a process that has other threads, Python's or a library's.  Raises: HarnessError."""
    threads = number_of_threads()
    if threads != 1:
        raise HarnessError(
            f"a process with {threads} threads cannot be forked safely", "start trials through the pool"
        )


def number_of_threads() -> int:
    """How many threads this process has; where there is no /proc, as far as Python knows."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208  before every fork
    return sys.modules["threading"].active_count() if "threading" in sys.modules else 1


def become_child(spec: ChildSpec, pipes: Pipes, code: CodeType | None) -> NoReturn:
    """Everything that a forked child does; it never returns into the parent's code."""
    exit_code = 1
    try:
        os.setsid()
        child.die_with_parent()
        report, stdout, stderr, hold = pipes.childs
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
            os.dup2(source, target)
        report, hold = move_high(report, 1000), move_high(hold, 1001)
        os.closerange(3, 1000)  # neither another child's pipes nor the pool's
        child.leave_if_abandoned(hold)
        os.chdir(spec.folder)
        atexit._clear()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        exit_code = ending(lambda: child.run(spec, report, hold, code))
    finally:
        os._exit(exit_code)


def move_high(fd: int, least: int) -> int:
    """A copy of a descriptor at a number that the clean-up below it leaves alone."""
    os.dup2(fd, least, inheritable=False)
    return least


def ending(run: Callable[[], int]) -> int:
    """Run to the end and do what a fresh interpreter does when it ends; returns the exit code."""
    try:
        code = run()
    except SystemExit as leaving:
        code = exit_code_of(leaving)
    except BaseException:  # noqa: BLE001  the interpreter would print it and end with 1
        traceback.print_exc()
        code = 1
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # waits for the handler's threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


def exit_code_of(leaving: SystemExit) -> int:
    """The exit code of `sys.exit(value)`: None is 0, a number itself, anything else is printed and 1."""
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def end_orphans() -> None:
    """Kill and reap everything that a handler started and left behind, also in a session of its own."""
    tasks = Path(f"/proc/self/task/{os.getpid()}/children")
    while tasks.is_file() and (pids := set(map(int, tasks.read_text().split())) - SANDBOXES):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
