"""A child in the sandbox, as the trusted process outside holds it."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import HarnessError
from labkit.grading import account
from labkit.grading.lent import MOST_WORLD_BYTES, MOST_WORLD_FILES, Lent, look_at
from labkit.harness.child import ChildSpec
from labkit.harness.piped import BOUNDARY_DEADLINE_S, PipedChild, Pipes
from labkit.observations import ProcessRun
from labkit.providers.served import LedgerServer

MOST_OUTPUT_BYTES = 1024 * 1024
MOST_MESSAGE_CHARACTERS = 20_000
LOOK_EVERY_S = 0.05
REAP_S = 10.0


@dataclass(frozen=True, slots=True)
class Outset:
    """A run's providers, and how its files and its ledgers stood before it was started."""

    server: LedgerServer | None
    look: str
    counters: Mapping[Path, int]

    @classmethod
    def of(cls, server: LedgerServer | None) -> Outset:
        """As it is now: to be asked before the order to start, since a run may write at once."""
        if server is None:
            return cls(None, "", {})
        return cls(
            server, server.announced.look(), {path: counter_of(path) for path in server.ledgers.values()}
        )


class CagedChild(PipedChild):
    """One child in the sandbox.  What it reports is filtered, and whatever passes a limit ends it."""

    def __init__(
        self, spec: ChildSpec, pipes: Pipes, told: socket.socket, lent: Lent, outset: Outset
    ) -> None:
        self._told = told
        told.setblocking(False)
        self._lent = lent
        self._outset = outset
        self._server = outset.server
        self._end: dict[str, Any] | None = None
        self._is_lost = False
        self._limit = ""
        self._looked_s = time.monotonic()
        super().__init__(spec, 0, pipes)

    # --- what a PipedChild asks of its operating system, asked of the sandbox ------------------

    def _watch_end(self) -> None:
        self._watch(os.dup(self._told.fileno()), "end")

    def has_ended(self) -> bool:
        """Whether the sandbox has told of the child's end, or is gone itself."""
        if self._end is None and not self._is_lost:
            with suppress(BlockingIOError, ConnectionError, TimeoutError):
                data = self._told.recv(4096)
                self._is_lost = not data
                if data:
                    self._end = json.loads(data)
        return self._end is not None or self._is_lost

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, through the sandbox."""
        with suppress(OSError):
            self._told.send(bytes([number]))

    def until_stopped(self, deadline_s: float = BOUNDARY_DEADLINE_S) -> bool:
        """Not to be had in a sandbox.  Raises: HarnessError."""
        raise HarnessError(f"no sandboxed child is paused, for {deadline_s} s or less", "use the fault kill")

    def _kill_session(self) -> None:
        self.signal(signal.SIGKILL)

    def _reap(self) -> int:
        self._told.setblocking(True)
        self._told.settimeout(REAP_S)
        deadline_s = time.monotonic() + REAP_S
        while not self.has_ended() and time.monotonic() < deadline_s:
            pass
        self._told.close()
        return int(self._end["ended"]) if self._end else -int(signal.SIGKILL)

    def _drain(self, wait_s: float) -> bool:
        ended = super()._drain(min(wait_s, LOOK_EVERY_S))
        if self.printed_bytes > MOST_OUTPUT_BYTES:
            self._pass_limit(f"{MOST_OUTPUT_BYTES} bytes of output")
        if time.monotonic() - self._looked_s > LOOK_EVERY_S:
            self._looked_s = time.monotonic()
            files, size = self._lent.size()
            if files > MOST_WORLD_FILES or size > MOST_WORLD_BYTES:
                self._pass_limit(f"{MOST_WORLD_BYTES} bytes or {MOST_WORLD_FILES} files in its folder")
        return ended

    def _pass_limit(self, limit: str) -> None:
        self._limit = self._limit or limit
        self.signal(signal.SIGKILL)

    @property
    def _cpu_s(self) -> float:
        """Processor seconds of the run and of all that it started."""
        return float(self._end["cpu_s"]) if self._end else 0.0

    # --- the end -------------------------------------------------------------------------------

    def finish(self, role: str, deadline_s: float = BOUNDARY_DEADLINE_S) -> ProcessRun:
        """Wait for the end as any child's, then take the world back and say which limit ended it."""
        run = super().finish(role, deadline_s)
        if self._server is not None:
            self._server.close()
        account.add(self._lent.account, self._cpu_s, self.printed_bytes)
        self.messages[:] = [message for message in self.messages if is_well_formed(message)]
        self.messages.append({"written": {
            path.name: counter_of(path) - before for path, before in self._outset.counters.items()
        }})  # fmt: skip
        odd = self._lent.take_back()
        if self._server is not None and self._lent.is_looked_at:
            told = self._server.announced
            end = look_at(self._lent.folder, self._lent.kept) if self._lent.is_settled else "unsettled"
            found = {
                "begin": self._outset.look,
                "seen": told.seen,
                "let_through": told.let_through,
                "end": end,
            }
            self.messages.append({"witness": found})
        if limit := self._limit or limit_of(run, self._cpu_s):
            self.messages.append({"cut": "killed_by_limit", "because": limit})
        elif odd or self._is_lost:
            self.messages.append({"cut": "tampered", "because": odd or "the sandbox itself was ended"})
        return run


def limit_of(run: ProcessRun, cpu_s: float) -> str:
    """The limit that a run has met, by name, empty where it met none.

    The processor's is measured out here.  The others only show in how the run failed, and are told
    for the learner's sake: a run that says it met one has failed in any case.
    """
    if run.returncode == -signal.SIGXCPU or cpu_s >= 0.95:
        return "1 s of processor time"
    if run.returncode == -signal.SIGXFSZ:
        return "the size of one file"
    if run.returncode in (0, -signal.SIGKILL):
        return ""
    last = run.stderr_tail.strip().splitlines()[-1:] or [""]
    for word, limit in (
        ("MemoryError", "memory"),
        ("File too large", "the size of one file"),
        ("[Errno 27]", "the size of one file"),
        ("[Errno 11]", "the number of processes"),
        ("can't start new thread", "the number of processes"),
        ("[Errno 24]", "the number of open files"),
    ):
        if word in last[0]:
            return limit
    return ""


def is_well_formed(message: dict[str, Any]) -> bool:
    """Whether a message can be one of the child's own crash points' messages; the answer can write them too."""
    if len(json.dumps(message)) > MOST_MESSAGE_CHARACTERS or "cut" in message:
        return False
    if "point" in message:
        return (
            {"point", "kind", "label", "line"} == message.keys() - {"where"}
            and type(message["point"]) is int
            and type(message["line"]) is int
            and isinstance(message["kind"], str)
            and isinstance(message["label"], str)
            and len(message["label"].split()) > 1
            and isinstance(message.get("where", ""), str)
        )
    if "written" in message:
        counts = message["written"]
        return isinstance(counts, dict) and all(type(count) is int for count in counts.values())
    for name in ("minted", "reads"):
        if name in message:
            return isinstance(message[name], list) and all(isinstance(one, str) for one in message[name])
    return message.keys() <= {
        "started", "result", "problem", "boundary", "route_past", "wrote_file", "sql_chance",
    } and all(isinstance(message.get(name, ""), str) for name in ("problem", "boundary", "wrote_file"))  # fmt: skip


def counter_of(path: Path) -> int:
    """How many transactions a store with a rollback journal has seen."""
    with path.open("rb") as file:
        file.seek(24)
        return int.from_bytes(file.read(4), "big")
