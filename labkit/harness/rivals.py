"""A second worker that acts at the worst moment: right before the first one's transaction begins.

It is forked at the start, while this process holds no connection, waits in a process of its own, and
acts when SQLite is about to begin a transaction on a connection that is watched.  So two processes
really compete for one store, and the outcome is the same each time: nothing sleeps to hit the gap.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from labkit.harness.child import ChildSpec

GO = b"g"
PATIENCE_S = 0.2  # for a lock that the first worker holds: it waits for the rival meanwhile


class Rival:
    """A forked process that runs `work()` whenever it is let, until that has once returned 0."""

    def __init__(self, work: Callable[[], int]) -> None:
        self._socket, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            serve(theirs, work)
        theirs.close()
        self.is_done = False

    def watch(self, db: sqlite3.Connection) -> None:
        """Act before each transaction that begins on this connection.

        SQLite asks its authorizer while it prepares BEGIN: the write lock is not taken yet, and what
        the caller has read so far it has read without one.
        """
        db.set_authorizer(self._asked)

    def _asked(self, action: int, argument: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_TRANSACTION and argument == "BEGIN":
            self.act()
        return sqlite3.SQLITE_OK

    def act(self) -> None:
        """Let the rival work and wait until it has; one that failed (on a lock) works at the next call."""
        if not self.is_done:
            with suppress(OSError):  # it has died: then it does nothing any more
                self._socket.sendall(GO)
                self.is_done = self._socket.recv(1) == bytes([0])

    def close(self) -> None:
        """Let it go, and reap it."""
        self._socket.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def serve(orders: socket.socket, work: Callable[[], int]) -> NoReturn:
    """All that the rival does.  It ends with the other worker: its socket closes, its session is killed."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the other worker's result stands there alone
        while orders.recv(1) == GO:
            code = work()
            orders.sendall(bytes([code & 0xFF]))
    finally:
        os._exit(code)


def beside(spec: ChildSpec, workflow_id: str | None, run: Callable[[ChildSpec], int]) -> Rival | None:
    """The rival beside one run: the same worker on another workflow, from the second run on."""
    if workflow_id is None or spec.run_number == 1:
        return None
    its_own = replace(
        spec, workflow_id=workflow_id, points=(), at=0, stop="never", stop_at=None,
        seed=spec.seed and f"{spec.seed}:rival", busy_timeout_s=PATIENCE_S,
    )  # fmt: skip
    return Rival(lambda: run(its_own))


def finish(given: Any) -> None:
    """The first worker has returned: a rival that had no moment yet acts now, and goes."""
    rival: Rival | None = getattr(given, "rival", None)  # a folder's path has none
    if rival is not None:
        rival.act()
        rival.close()
