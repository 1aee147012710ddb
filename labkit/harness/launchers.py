"""Launchers start the child that gets killed, and know how it really ended.

`exec` starts a fresh, isolated interpreter.  Every wait has a deadline; a child has its own session,
is signalled only before it is reaped, and takes the rest of its session with it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any, Protocol, Self

from labkit.errors import HarnessError
from labkit.harness.child import ChildSpec
from labkit.observations import ProcessRun

BOUNDARY_DEADLINE_S = 5.0
TAIL_BYTES = 4096  # of each stream; a child that prints without end costs no more than this
START_ALLOWANCE_S = 10.0  # a fresh interpreter on a busy machine, before the worker's own deadline counts


class Child(Protocol):
    """One started child, until it is reaped."""

    pid: int

    def until_boundary(self, deadline_s: float = BOUNDARY_DEADLINE_S) -> str | None:
        """Wait until it reports the boundary where it stops; None where it ended instead."""

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; nothing where it has ended."""

    def release(self) -> None:
        """Let a child that waits at a boundary go on."""

    def finish(self, role: str, deadline_s: float = BOUNDARY_DEADLINE_S) -> ProcessRun:
        """Wait for its end, reap it and its session.  Past the deadline it is killed: see `timed_out`."""


class Launcher(Protocol):
    """How children are started."""

    def start(self, spec: ChildSpec) -> Child:
        """Start one child.  Raises: HarnessError."""


class ExecLauncher:
    """Children in fresh interpreters: slow, and free of anything that the parent holds."""

    def start(self, spec: ChildSpec) -> ExecChild:
        """Start one child.  Raises: HarnessError."""
        return ExecChild(spec)


class ExecChild:
    """A child in a fresh interpreter.  Use it as a context: leaving kills what still runs."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.started_s = time.monotonic()
        self.timed_out = False
        self.messages: list[dict[str, Any]] = []
        self._tails = {"stdout": b"", "stderr": b"", "report": b""}
        report_read, report_write = os.pipe()
        hold_read, self._hold_write = os.pipe()
        arguments = [json.dumps(asdict(spec)), str(report_write), str(hold_read)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "labkit.harness.child", *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                pass_fds=(report_write, hold_read), start_new_session=True, cwd=spec.folder,
            )  # fmt: skip
        except OSError as error:
            os.close(report_read)
            os.close(self._hold_write)
            raise HarnessError(
                f"no child could be started ({error})", "check processes and memory"
            ) from error
        finally:
            os.close(report_write)
            os.close(hold_read)
        self.pid = self._process.pid
        self._selector = selectors.DefaultSelector()
        for name, fd in (("report", report_read), ("stdout", self._out(1)), ("stderr", self._out(2))):
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ, name)

    def _out(self, number: int) -> int:
        stream = self._process.stdout if number == 1 else self._process.stderr
        assert stream is not None
        return stream.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.returncode is None:
            self.finish("abandoned", 0.0)

    @property
    def reported(self) -> str | None:
        """The boundary that the child reported last."""
        found = [message["boundary"] for message in self.messages if "boundary" in message]
        return found[-1] if found else None

    def until_boundary(self, deadline_s: float = BOUNDARY_DEADLINE_S) -> str | None:
        """Wait until the child reports the boundary where it stops; None where it ended instead."""
        self._read(time.monotonic() + deadline_s + START_ALLOWANCE_S, lambda: self.reported is not None)
        return self.reported

    def signal(self, number: signal.Signals) -> None:
        """Send a signal by handle; a child that has ended is not reaped yet, so no one else has its pid."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def release(self) -> None:
        """Let a child that waits at a boundary go on."""
        with suppress(BrokenPipeError):
            os.write(self._hold_write, b"g")

    def finish(self, role: str, deadline_s: float = BOUNDARY_DEADLINE_S) -> ProcessRun:
        """Wait for the child's end and reap it, with its session.  Past the deadline it is killed."""
        self.timed_out = not self._read(time.monotonic() + deadline_s + START_ALLOWANCE_S, self._has_ended)
        # The child is a zombie or about to be killed: its pid, and so its group, is still its own.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        returncode = self._process.wait(BOUNDARY_DEADLINE_S)
        self._read(time.monotonic(), lambda: False)  # what it had written before it died
        self._close()
        result = next((message["result"] for message in self.messages if "result" in message), None)
        return ProcessRun(
            role=role,
            command=self.spec.command,
            pid=self.pid,
            returncode=returncode,
            boundary=self.reported,
            result=result,
            stdout_tail=self._tails["stdout"].decode(errors="replace"),
            stderr_tail=self._tails["stderr"].decode(errors="replace"),
            elapsed_ms=round((time.monotonic() - self.started_s) * 1000, 3),
            timed_out=self.timed_out,
        )

    def _has_ended(self) -> bool:
        """Whether the child has ended; leaves it unreaped, so that its pid stays its own."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self, until_s: float, done: Any) -> bool:
        """Drain the pipes until `done()`, False at the deadline.  Every pass is bounded."""
        while True:
            for key, _ in self._selector.select(0):
                self._take(key)
            if done():
                return True
            if time.monotonic() >= until_s:
                return False
            # A grandchild may hold the pipes open, so their end says nothing: the child's own end is polled.
            if not self._selector.select(0.002) and done is not self._has_ended and self._has_ended():
                until_s = 0.0

    def _take(self, key: selectors.SelectorKey) -> None:
        try:
            data = os.read(key.fd, 65536)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(key.fd)
            return
        if key.data == "report":
            self._tails["report"] += data
            *lines, self._tails["report"] = self._tails["report"].split(b"\n")
            self.messages += [json.loads(line) for line in lines]
        else:
            self._tails[key.data] = (self._tails[key.data] + data)[-TAIL_BYTES:]

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data == "report":
                os.close(key.fd)
        self._selector.close()
        os.close(self._hold_write)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
