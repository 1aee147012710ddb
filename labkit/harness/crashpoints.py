"""Crash points inside the child: one numbered stream of boundaries, SQL statements and source lines.

Statements come from sqlite3's trace callback, which fires *before* a statement runs; it is set on
every connection that this process opens.  Lines come from `sys.settrace`, for the handler's own file only.  PRAGMAs are no crash points.

This module imports nothing but the standard library: it is also injected into programs that know
nothing of labkit.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

SOURCES = ("boundary", "statement", "line")
MOST_POINTS = 5000  # a run with more is refused: a sweep of it would never end
WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER"})
SQL_CHANCE = re.compile(
    r"\brandom\s*\(|\brandomblob\s*\(|'now'|\bcurrent_(?:timestamp|date|time)\b", re.IGNORECASE
)

# What a fault sends to this very process; only SIGSTOP and SIGTERM may be survived.  `lost_reply` sends none.
SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP, "term": signal.SIGTERM}

READ_TABLE = re.compile(r'\b(?:FROM|JOIN)\s+["`\[]?(\w+)', re.IGNORECASE)
CHAIN = "labkit/stores/chain.py"

# Audit events by which a program gets at files past this process's own eyes.
ROUTES_PAST = frozenset(
    {"subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "ctypes.dlopen"}
)

Report = Callable[[dict[str, Any]], None]


def report_to(fd: int) -> Report:
    """A reporter that writes one JSON line a message; to nobody where `fd` is negative."""

    def report(message: dict[str, Any]) -> None:
        if fd >= 0:
            os.write(fd, json.dumps(message).encode() + b"\n")

    return report


HERE = report_to.__code__.co_filename


class CrashPoints:
    """Counts the crash points of this process, and brings the fault at number `at` (0: only counts)."""

    def __init__(self, file: str, sources: tuple[str, ...], at: int, fault: str, report: Report) -> None:
        self.file = file
        self.sources = sources
        self.at = at
        self.fault = fault
        self.report = report
        self.number = 0
        self.pid = os.getpid()
        self.evidence: frozenset[str] = frozenset()  # tables that the handler is trusted not to read
        self.written: dict[str, int] = {}  # committed writing transactions by file name
        self._traced: set[int] = set()
        self._untraced = 0

    def install(self) -> None:
        """Start to watch.  Cannot be undone: this process is made to be killed."""
        if "statement" in self.sources:
            self._trace_connections()
        if self.sources:
            sys.addaudithook(self._audit)
        if "line" in self.sources:
            sys.settrace(self._enter)

    def passed(self, kind: str, name: str, where: str = "") -> None:
        """One point is reached.  This is where the process dies.  `where` is for what happens elsewhere."""
        if os.getpid() != self.pid:
            return  # a process that the handler forked is not the one under test
        self.number += 1
        if self.number > MOST_POINTS:
            self.report(
                {"problem": f"more than {MOST_POINTS} crash points: choose fewer sources with --points"}
            )
            os._exit(1)
        if self.at not in (0, self.number):
            return
        line = self._handler_line()
        point = {"point": self.number, "kind": kind, "label": self.label(kind, name, line), "line": line}
        self.report(point | ({"where": where} if where else {}))
        if self.number == self.at and self.fault in SIGNALS:
            self._strike(SIGNALS[self.fault], kind)

    def ahead(self) -> int:
        """How many points are sure to pass before the one at which this process dies."""
        return self.at - self.number - 1 if self.sources and self.at else MOST_POINTS

    def _strike(self, number: signal.Signals, kind: str) -> None:
        """Send this process its signal.

        A signal handler in Python must not run inside SQLite's callback, which swallows what it raises:
        there the signal is held until the statement has returned, as it would be in real life.
        """
        if kind != "statement" or not callable(signal.getsignal(number)):
            os.kill(self.pid, number)
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        os.kill(self.pid, number)

        def returned(frame: FrameType, _event: str, _argument: Any) -> None:
            if frame.f_code.co_filename != HERE:
                sys.setprofile(None)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})

        sys.setprofile(returned)

    def label(self, kind: str, name: str, line: int) -> str:
        """`4 COMMIT at line 12`, `7 line 13`, `9 effect.committed at line 12`."""
        if kind == "line":
            return f"{self.number} {name}"
        return f"{self.number} {name} at line {line}" if line else f"{self.number} {name}"

    # --- where points come from -------------------------------------------------------------

    def boundary(self, name: str) -> None:
        """A named boundary was announced."""
        if "boundary" in self.sources:
            self.passed("boundary", name)

    def statement(self, verb: str) -> None:
        """A provider in another process is about to run a statement."""
        if "statement" in self.sources:
            self.passed("statement", verb, "provider")

    def reply(self, call: str) -> bool:
        """A provider has answered `call`; True where this reply is the one that gets lost."""
        self.passed("reply", f"reply to {call}")
        return self.number == self.at

    def _trace_connections(self) -> None:
        """Trace every connection that this process opens from now on, by whichever of sqlite3's names.

        An audit hook, which no handler can take away, counts openings: one that slips past the
        names is noticed, and the sweep says so instead of not seeing it.
        """
        connect, plain = sqlite3.connect, sqlite3.Connection

        def traced_connect(database: Any, *arguments: Any, **more: Any) -> sqlite3.Connection:
            return self._trace(connect(database, *arguments, **more), database)

        class TracedConnection(plain):  # type: ignore[misc, valid-type]
            def __init__(connection, database: Any, *arguments: Any, **more: Any) -> None:  # noqa: N805
                super().__init__(database, *arguments, **more)
                self._trace(connection, database)

        sqlite3.connect = sqlite3.dbapi2.connect = traced_connect  # type: ignore[assignment]
        sqlite3.Connection = sqlite3.dbapi2.Connection = TracedConnection  # type: ignore[misc]

    def _trace(self, connection: sqlite3.Connection, database: Any) -> sqlite3.Connection:
        if id(connection) not in self._traced:
            self._traced.add(id(connection))
            self._untraced -= 1
            connection.set_trace_callback(_Statements(self, Path(os.fsdecode(database)).name))
        return connection

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "sqlite3.connect/handle":
            self._traced.discard(id(arguments[0]))  # an id may be used again once its connection is gone
            self._untraced += 1
        elif self.at == 0 and event in ROUTES_PAST and arguments[:1] != (None,):  # dlopen of itself
            self.report({"route_past": event})
        elif self.at == 0 and event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            self.report({"wrote_file": os.path.realpath(str(arguments[0]))})
        elif self.at == 0 and event in ("os.rename", "os.link"):
            self.report({"wrote_file": os.path.realpath(str(arguments[1]))})

    def check(self) -> None:
        """Report a connection that was opened past every name that is watched."""
        if self._untraced > 0 and "statement" in self.sources:
            self.report(
                {"problem": f"{self._untraced} SQLite connection(s) opened where the sweep cannot see"}
            )

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._line if frame.f_code.co_filename == self.file else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.passed("line", f"line {frame.f_lineno}")
        return self._line

    def _handler_line(self) -> int:
        """The line of the handler's own file that is running, 0 where none is."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return 0


class _Statements:
    """The trace callback of one connection: it numbers statements and counts writing transactions."""

    def __init__(self, points: CrashPoints, name: str) -> None:
        self.points = points
        self.name = name
        self.in_transaction = False
        self.wrote = False

    def __call__(self, sql: str) -> None:
        text = sql.lstrip()
        verb = text.split(None, 1)[0].rstrip(";").upper() if text else ""
        if text.startswith("--") or verb in ("", "PRAGMA"):  # a comment announces a trigger's body
            return
        if SQL_CHANCE.search(text):
            self.points.report({"sql_chance": verb})
        self._watch(text)
        self.points.passed("statement", verb)
        self._count(verb)

    def _watch(self, sql: str) -> None:
        """Report evidence tables that the handler reads after all; the event chain reads its own end."""
        read = {name.lower() for name in READ_TABLE.findall(sql)} & self.points.evidence
        if read and not Path(sys._getframe(3).f_code.co_filename).as_posix().endswith(CHAIN):
            self.points.report({"reads": sorted(read)})

    def _count(self, verb: str) -> None:
        """Keep count of what this connection commits, so that unseen writers can be noticed."""
        if verb in ("BEGIN", "SAVEPOINT"):
            self.in_transaction, self.wrote = True, False
        elif verb in WRITING:
            self.wrote = True
        elif verb == "ROLLBACK":
            self.in_transaction = self.wrote = False
        ends = verb in ("COMMIT", "END", "RELEASE") or not self.in_transaction
        if ends and self.wrote and os.getpid() == self.points.pid:
            written = self.points.written
            written[self.name] = written.get(self.name, 0) + 1
            self.points.report({"written": written})
        if ends:
            self.in_transaction = self.wrote = False
