"""The process inside the sandbox that forks the children: started once, clean, with everything imported.

It takes orders on a socket: a child's spec as JSON, the marshalled code of its handler, and beside them the
ends of the child's pipes and of a socket of its own.  On that socket the child can be signalled, and its true end is told,
whatever number it has in here.  No line of an answer ever runs in this process.
"""

from __future__ import annotations

import array
import gc
import json
import marshal
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from labkit.harness import child, launchers
from labkit.harness.child import ChildSpec
from labkit.harness.limits import Limits

FDS = 5  # report, stdout, stderr, hold, and the child's own socket
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36  # <linux/prctl.h>
# What answers use most: where another user may not read the interpreter's files, this is what there is.
# Elsewhere it only makes this process larger, and each fork of it dearer.
COMMON = (
    "base64", "bisect", "collections", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal",
    "encodings.ascii", "encodings.hex_codec", "encodings.idna", "encodings.latin_1", "encodings.utf_16_be",
    "encodings.utf_16", "encodings.utf_8_sig", "enum", "fractions", "functools", "glob", "hashlib", "heapq", "itertools", "json", "logging", "math", "operator",
    "pathlib", "random", "re", "secrets", "sqlite3", "statistics", "string", "subprocess", "tempfile",
    "textwrap", "threading", "time", "traceback", "types", "typing", "uuid", "labkit.kata",
)  # fmt: skip


class Zygote:
    """Forks children on request until its socket is closed."""

    def __init__(self, orders: socket.socket, limits: Limits) -> None:
        self.orders = orders
        self.limits = limits
        self.running: dict[int, socket.socket] = {}  # pid of a child -> the socket it is told about on
        self.selector = selectors.DefaultSelector()
        self.selector.register(orders, selectors.EVENT_READ, ("order", 0))

    def serve(self) -> None:
        """Until the other side is gone."""
        while True:
            for key, _ in self.selector.select():
                what, pid = key.data
                if what == "order" and not self.take_order():
                    return
                if what == "end":
                    self.bury(pid, key)
                elif what == "signal" and pid in self.running:
                    self.pass_signal(pid, key)

    def take_order(self) -> bool:
        """Start one child; False where nobody gives orders any more."""
        (spec_bytes, code_bytes), fds = receive(self.orders)
        if len(fds) != FDS:
            return False
        order = b""
        while len(order) < spec_bytes + code_bytes:
            order += self.orders.recv(spec_bytes + code_bytes - len(order))
        spec = ChildSpec(**json.loads(order[:spec_bytes]))
        pid = os.fork()
        if pid == 0:
            self.become_child(spec, order[spec_bytes:], fds)
        for fd in fds[:-1]:
            os.close(fd)
        self.running[pid] = socket.socket(fileno=fds[-1])
        self.selector.register(self.running[pid], selectors.EVENT_READ, ("signal", pid))
        self.selector.register(os.pidfd_open(pid), selectors.EVENT_READ, ("end", pid))
        return True

    def become_child(self, spec: ChildSpec, marshalled: bytes, fds: list[int]) -> NoReturn:
        """Everything that a child does; it never returns into this process's code."""
        code = 1
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDONLY)
            report, stdout, stderr, hold = fds[:-1]
            for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
                os.dup2(source, target)
            report, hold = launchers.move_high(report, 100), launchers.move_high(hold, 101)
            os.closerange(3, 100)
            os.chdir(spec.folder)
            self.limits.bind_child()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            handler = marshal.loads(marshalled) if marshalled else None  # noqa: S302  from outside, not from a child
            code = launchers.ending(lambda: child.run(spec, report, hold, handler))
        finally:
            os._exit(code)

    def pass_signal(self, pid: int, key: selectors.SelectorKey) -> None:
        """What the other side sends a child; where it is gone, the child goes too."""
        data = self.running[pid].recv(64)
        if not data:
            self.selector.unregister(key.fileobj)
        numbers = [signal.Signals(number) for number in data] or [signal.SIGKILL]
        for number in numbers:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def bury(self, pid: int, key: selectors.SelectorKey) -> None:
        """A child has ended: nothing that it started outlives it, and its end is told."""
        self.selector.unregister(key.fileobj)
        os.close(key.fd)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        cpu_s = self.end_all_but(pid) if len(self.running) == 1 else 0.0
        _, status, used = os.wait4(pid, 0)
        with self.running.pop(pid) as told:
            with suppress(KeyError, ValueError):
                self.selector.unregister(told)
            end = {
                "ended": os.waitstatus_to_exitcode(status),
                "cpu_s": cpu_s + used.ru_utime + used.ru_stime,
                "pid": pid,
            }
            with suppress(OSError):
                told.sendall(json.dumps(end).encode() + b"\n")

    def end_all_but(self, ended: int) -> float:
        """Kill whatever answers have left running, in whichever session, and reap it; its processor seconds."""
        cpu_s = 0.0
        if os.getpid() == 1:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # everything in this namespace but this process
        elif self.limits.user_id is not None:
            self.end_user(self.limits.user_id)
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        while children.is_file():
            pids = [int(text) for text in children.read_text().split() if int(text) != ended]
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    used = os.wait4(pid, 0)[2]
                    cpu_s += used.ru_utime + used.ru_stime
            if not pids:
                break
        return cpu_s

    def end_user(self, user_id: int) -> None:
        """As that user, kill everything that this user may kill: it owns nothing but answers."""
        pid = os.fork()
        if pid == 0:
            try:
                os.setgid(user_id)
                os.setuid(user_id)
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)


def receive(orders: socket.socket) -> tuple[tuple[int, int], list[int]]:
    """The lengths of the next order's two parts and the descriptors that came with it; none at the end of file."""
    room = socket.CMSG_SPACE(FDS * array.array("i").itemsize)
    data, ancillary, _, _ = orders.recvmsg(8, room, socket.MSG_WAITALL)
    fds = array.array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return (int.from_bytes(data[:4], "little"), int.from_bytes(data[4:], "little")), fds.tolist()


def main(settings: dict[str, Any]) -> None:
    """Serve the socket whose descriptor is `settings["fd"]`, under `settings["limits"]`."""
    limits = Limits(**settings["limits"])
    if os.getpid() != 1:
        child.die_with_parent()
    if child._prctl is not None:
        child._prctl(PR_SET_CHILD_SUBREAPER, 1)
        if limits.user_id is None:  # children of our own user may not look into this process or steer it
            child._prctl(PR_SET_DUMPABLE, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    for name in COMMON if settings["may_be_unreadable"] else ("labkit.kata",):
        import_module(name)
    limits.bind()
    gc.freeze()
    Zygote(socket.socket(fileno=settings["fd"]), limits).serve()
    sys.exit(0)
