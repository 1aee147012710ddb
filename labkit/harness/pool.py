"""Warm processes that fork the children: single-threaded, connection-free, one task at a time each.

The parent sends one JSON line a task over a socket and gets one line back.  A warm process that is
killed is started again and its task repeated once; when the parent ends, its warm processes end,
and their children with them.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from labkit import errors
from labkit.errors import HarnessError, LabError

MOST_TRIES = 2
GRACE_S = 5.0  # for a warm process to kill what its child has started
LOOK_EVERY_S = 1.0  # for one that takes too long


def usable_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WarmProcess:
    """One warm process and the socket to it.  `module` is its main program, which serves that socket."""

    def __init__(self, module: str = "labkit.harness.warm") -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-m", module, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise HarnessError(f"no warm process could be started ({error})", "check memory") from error
        self.socket = ours
        self.pid = self._process.pid
        self.task: int | None = None
        self._began_s = 0.0
        self._received = b""

    def send(self, number: int, name: str, arguments: Sequence[Any]) -> None:
        """Give it one task."""
        self.task, self._began_s = number, time.monotonic()
        with suppress(OSError):  # it has died: receive() will see the end of file
            self.socket.sendall(json.dumps([name, *arguments]).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Its answer once it is whole, {} before that, None where it has died."""
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            return None
        self._received += data
        if not self._received.endswith(b"\n"):
            return {}
        answer: dict[str, Any] = json.loads(self._received)
        self._received = b""
        return answer

    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def end_after(self, most_s: float) -> None:
        """Kill it where it has been at its task for longer; that it has died is seen as ever."""
        if self.task is not None and time.monotonic() - self._began_s > most_s:
            self._process.kill()

    def close(self) -> None:
        """End it, its child, and whatever that child has started."""
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)  # one that was stopped hears it only then
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.socket.close()


class Pool:
    """A few warm processes, with `module` as their main program.  Use it as a context, and from the thread that made it.

    One that is longer at a task than `most_task_s` is ended, as if it had died; None is for ever.
    """

    module = "labkit.harness.warm"
    most_task_s: float | None = None

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or usable_cores()
        self._warm: list[WarmProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all warm processes."""
        for warm in self._warm:
            warm.close()
        self._warm = []

    def start(self, tasks: int) -> None:
        """Have as many processes as that many tasks can use: they are warm by the time that the first one comes."""
        while len(self._warm) < min(self.jobs, tasks):
            self._warm.append(WarmProcess(self.module))

    def one(self, name: str, *arguments: Any) -> Any:
        """Run one task.  Raises: what the task raised."""
        return next(iter(self.run([(name, *arguments)])))[1]

    def run(self, tasks: Sequence[tuple[Any, ...]]) -> Generator[tuple[int, Any], None, None]:
        """Run tasks side by side; yields (index, answer) in the order in which they end.

        Raises:
            LabError: what a task raised.
            HarnessError: a warm process died twice at the same task.
        """
        waiting = list(range(len(tasks)))[::-1]
        tries = [0] * len(tasks)
        self.start(len(tasks))
        with selectors.DefaultSelector() as selector:
            for warm in self._warm:
                selector.register(warm.socket, selectors.EVENT_READ, warm)
            try:
                busy = sum(self._next(warm, waiting, tasks) for warm in self._warm)
                while busy:
                    self._end_slow()
                    for key, _ in selector.select(self.most_task_s and min(LOOK_EVERY_S, self.most_task_s)):
                        warm, number = key.data, key.data.task
                        answer = warm.receive()
                        if answer == {}:
                            continue
                        if answer is None:
                            warm = self._replace(warm, selector)
                            if number is None:  # it had nothing to do
                                continue
                            tries[number] += 1
                            if tries[number] < MOST_TRIES:
                                waiting.append(number)
                            else:
                                answer = self.given_up(tasks[number], tries[number])
                        warm.task = None
                        busy += self._next(warm, waiting, tasks) - 1  # at work before its answer is handled
                        if answer is not None:
                            yield number, answer_of(answer)
            finally:
                self._abandon()

    def given_up(self, task: tuple[Any, ...], deaths: int) -> dict[str, Any]:
        """What stands for the answer to a task at which so many processes died.  Raises: HarnessError."""
        raise HarnessError(
            f"a warm process died {deaths} times at task {task[0]}",
            "look for a handler that kills its parent, or for limits on memory",
        )

    def _next(self, warm: WarmProcess, waiting: list[int], tasks: Sequence[tuple[Any, ...]]) -> int:
        if not waiting:
            warm.task = None
            return 0
        number = waiting.pop()
        name, *arguments = tasks[number]
        warm.send(number, name, arguments)
        return 1

    def _end_slow(self) -> None:
        if self.most_task_s is not None:
            for warm in self._warm:
                warm.end_after(self.most_task_s)

    def _abandon(self) -> None:
        """End the warm processes that are still at work: nobody waits for their answers any more."""
        for warm in [warm for warm in self._warm if warm.task is not None]:
            warm.close()
            self._warm.remove(warm)

    def _replace(self, dead: WarmProcess, selector: selectors.BaseSelector) -> WarmProcess:
        selector.unregister(dead.socket)
        dead.close()
        fresh = WarmProcess(self.module)
        self._warm[self._warm.index(dead)] = fresh
        selector.register(fresh.socket, selectors.EVENT_READ, fresh)
        return fresh


def answer_of(answer: dict[str, Any]) -> Any:
    """What a task returned.  Raises: the labkit error that it raised."""
    if "error" not in answer:
        return answer["answer"]
    kind = getattr(errors, answer["error"], HarnessError)
    if not issubclass(kind, LabError):
        kind = HarnessError
    raise kind(answer["message"], answer["cure"])
