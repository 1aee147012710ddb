"""A started child as its parent holds it: its pipes, its deadlines, its end.

Every wait has a deadline, every stream is bounded.  The child is signalled only while it is unreaped
(its pid is its own until then), and when it ends the rest of its session ends with it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from labkit.harness.child import ChildSpec
from labkit.harness.pipes import Pipes as Pipes
from labkit.observations import ProcessRun

BOUNDARY_DEADLINE_S = 5.0
TAIL_BYTES = 4096  # of each stream; a child that prints without end costs no more than this
MOST_REPORT_BYTES = 8 * 1024 * 1024  # of reports from one child; what comes after is not read as reports
PATIENCE_S = 0.02  # in which most children end; meanwhile their pipes hold 64 KiB each
HAS_PIDFD = sys.platform == "linux" and hasattr(os, "pidfd_open")


class PipedChild:
    """One started child, until it is reaped.  Use it as a context: leaving kills what still runs."""

    def __init__(self, spec: ChildSpec, pid: int, pipes: Pipes, start_allowance_s: float = 0.0) -> None:
        for fd in pipes.childs:
            os.close(fd)
        self.spec = spec
        self.pid = pid
        self.messages: list[dict[str, Any]] = []
        self.timed_out = False
        self.returncode: int | None = None
        self._began_s = time.monotonic()
        self._ready_s = self._began_s + start_allowance_s  # at the latest; its first report says when
        self._tails = {"report": b"", "stdout": b"", "stderr": b""}
        self._reported_bytes = self.printed_bytes = 0
        self._hold = pipes.hold[1]
        self._watched: dict[int, str] = {}  # descriptor -> whose news it brings
        self._news, self._only_end = select.poll(), select.poll()
        for name, fd in zip(self._tails, pipes.parents, strict=False):
            self._watch(fd, name)
        self._watch_end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.returncode is None:
            self.signal(signal.SIGKILL)
            self.finish("abandoned")

    @property
    def reported(self) -> str | None:
        """The boundary or the numbered crash point that the child reported last as its stop."""
        stops = [message.get("boundary") or message.get("label") for message in self.messages]
        return next((stop for stop in reversed(stops) if stop), None)

    def until_boundary(self, deadline_s: float = BOUNDARY_DEADLINE_S) -> str | None:
        """Wait until the child reports where it stops; None where it ended instead."""
        self._read(deadline_s, lambda: self.reported is not None)
        return self.reported

    def until_stopped(self, deadline_s: float = BOUNDARY_DEADLINE_S) -> bool:
        """Wait until the child has stopped by SIGSTOP; False where it ended instead."""
        asked_s = time.monotonic()
        while self._remaining_s(asked_s, deadline_s) > 0:
            if os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            self._drain(0.001)
            if self.has_ended():
                return False
        return False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a child that has ended is not reaped yet, so nobody else has its pid."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def release(self) -> None:
        """Let a child that waits at a boundary go on."""
        with suppress(BrokenPipeError):
            os.write(self._hold, b"g")

    def has_ended(self) -> bool:
        """Whether the child has ended; leaves it unreaped, so that its pid stays its own."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def finish(self, role: str, deadline_s: float = BOUNDARY_DEADLINE_S) -> ProcessRun:
        """Wait for the child's end and reap it, with its session.  Past the deadline it is killed."""
        self.timed_out = not self._until_ended(deadline_s)
        self._kill_session()
        self.returncode = self._reap()
        self._drain(0)  # what it had written before it died
        self._close()
        result = next((message["result"] for message in self.messages if "result" in message), None)
        return ProcessRun(
            role=role,
            command=self.spec.command,
            pid=self.pid,
            returncode=self.returncode,
            boundary=self.reported,
            result=result,
            stdout_tail=self._tails["stdout"].decode(errors="replace"),
            stderr_tail=self._tails["stderr"].decode(errors="replace"),
            elapsed_ms=round((time.monotonic() - self._began_s) * 1000, 3),
            timed_out=self.timed_out,
        )

    def _watch(self, fd: int, name: str) -> None:
        """Listen to a descriptor; it is closed with the child."""
        self._watched[fd] = name
        self._news.register(fd, select.POLLIN)
        if name == "end":
            self._only_end.register(fd, select.POLLIN)

    def _watch_end(self) -> None:
        """Listen for the child's end."""
        if HAS_PIDFD:
            self._watch(os.pidfd_open(self.pid), "end")

    def _reap(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    # --- the pipes --------------------------------------------------------------------------

    def _remaining_s(self, asked_s: float, deadline_s: float) -> float:
        """What is left of a deadline; it runs once the child is ready, however slow its interpreter was."""
        return max(asked_s, self._ready_s) + deadline_s - time.monotonic()

    def _until_ended(self, deadline_s: float) -> bool:
        """Wait for the child's end, False at the deadline.

        At first its reports wake nobody: while this process sleeps it copies no page that both hold.
        """
        if HAS_PIDFD:
            patience_s = min(PATIENCE_S, deadline_s)
            if self._only_end.poll(1000 * patience_s):
                return True
            deadline_s -= patience_s
        return self._read(deadline_s, self.has_ended)

    def _read(self, deadline_s: float, done: Callable[[], bool]) -> bool:
        """Drain the pipes until `done()` or the child's end; False at the deadline."""
        asked_s = time.monotonic()
        while not done():
            remaining_s = self._remaining_s(asked_s, deadline_s)
            if remaining_s <= 0:
                return False
            ended = self._drain(remaining_s if HAS_PIDFD else min(remaining_s, 0.002))
            if ended or (not HAS_PIDFD and self.has_ended()):
                self._drain(0)
                return True
        return True

    def _drain(self, wait_s: float) -> bool:
        """Take what the pipes hold; True once the child has ended.

        A grandchild may hold the pipes open, so their end of file says nothing of the child.
        """
        ended = False
        for fd, _ in self._news.poll(1000 * wait_s):
            if self._watched[fd] == "end":
                ended = True
            else:
                self._take(fd, self._watched[fd])
        return ended

    def _take(self, fd: int, name: str) -> None:
        data = os.read(fd, 65536)
        if not data:
            self._news.unregister(fd)
            os.close(fd)
            del self._watched[fd]
        elif name == "report":
            self._take_report(data)
        else:
            self.printed_bytes += len(data)
            self._tails[name] = (self._tails[name] + data)[-TAIL_BYTES:]

    def _take_report(self, data: bytes) -> None:
        self._reported_bytes += len(data)
        if self._reported_bytes > MOST_REPORT_BYTES:
            return
        *lines, self._tails["report"] = (self._tails["report"] + data).split(b"\n")
        for line in lines:
            with suppress(ValueError, RecursionError):  # the handler can write to this pipe too: no report
                message = json.loads(line)
                if isinstance(message, dict):
                    self.messages.append(message)
                    self._ready_s = min(self._ready_s, time.monotonic())

    def _kill_session(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.signal(signal.SIGKILL)  # it may have left its group, or not have made its session yet

    def _close(self) -> None:
        for fd in (*self._watched, self._hold):
            os.close(fd)
