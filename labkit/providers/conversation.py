"""One caller of a served ledger: its calls answered, each statement and boundary announced before it comes about."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from labkit.boundaries import Boundary
from labkit.errors import LabError
from labkit.providers.file import FileProvider
from labkit.providers.socket import GO, MOST_LINE_BYTES
from labkit.providers.wire import checked, line_of, plain, refused, text, whole_number
from labkit.stores import sqlite
from labkit.stores.ledger import Ledger

MOST_CALLS = 5000  # of one connection


@dataclass(slots=True)
class Announced:
    """What a server has announced: each statement, with what `look` saw right before, and how many came about."""

    look: Callable[[], str] = str
    seen: list[tuple[str, str]] = field(default_factory=list)
    let_through: int = 0


class CallerGone(BaseException):
    """The caller died or left; not an Exception, so that nothing on the way takes it for a failure."""


class Conversation:
    """One caller, from its first call to its end."""

    def __init__(
        self, caller: socket.socket, ledgers: Mapping[str, Path], now_ms: int, announced: Announced
    ) -> None:
        self.announced = announced
        self.caller = caller
        self.ledgers = ledgers
        self.now_ms = now_ms
        self.is_gone = False
        self.free = 0  # so many announcements need no answer
        self.look: str | None = None  # how the caller's files were when last looked at in this call
        self._received = b""
        self._unsent = b""
        self._opened: dict[str, FileProvider] = {}

    def hold(self) -> None:
        """Answer calls until the caller goes.  Raises: CallerGone."""
        try:
            for _ in range(MOST_CALLS):
                self._send(self._answer(self._line()))
        finally:
            for provider in self._opened.values():
                provider.ledger.db.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            name, call = text(asked["ledger"]), asked["call"]
            arguments = checked(call, asked["arguments"])
            self.free, self.look = whole_number(asked.get("free", 0)), None
        except (ValueError, TypeError, KeyError, RecursionError):
            return {"error": "BadAction", "message": "the provider got no call that it knows", "cure": ""}
        except LabError as error:
            return refused(error)
        if name not in self.ledgers:
            return {"error": "UnknownName", "message": f"provider {name} is not in this world", "cure": ""}
        try:
            return {"answer": plain(getattr(self._provider(name), call)(*arguments))}
        except LabError as error:
            return refused(error)

    def _provider(self, name: str) -> FileProvider:
        if name not in self._opened:
            ledger = Ledger.open(self.ledgers[name])
            announced = AnnouncedConnection(ledger.db, self)
            # Only execute(), in_transaction, path and close() are used of a connection.
            ledger = Ledger(cast(sqlite.StoreConnection, announced))
            self._opened[name] = FileProvider(ledger, self.now_ms, self._reached)
        return self._opened[name]

    def _reached(self, boundary: Boundary) -> None:
        self.announce("boundary", boundary.value)

    def announce(self, kind: str, name: str) -> None:
        """Say what comes next and wait until the caller, alive, lets it come.  Raises: CallerGone.

        What the caller need not stop at is told together with what follows: it waits for the answer
        meanwhile, so its files are looked at once.
        """
        self.free -= 1
        if kind == "statement":
            if self.free < 0 or self.look is None:
                self.look = self.announced.look()
            self.announced.seen.append((name, self.look))
        if self.free >= 0:
            self._unsent += line_of({kind: name})
        else:
            self._wait_for_go({kind: name})
        self.announced.let_through += kind == "statement"

    def _wait_for_go(self, message: dict[str, Any]) -> None:
        try:
            self._send(message)
            if self._line() != GO.strip():
                raise CallerGone
        except CallerGone:
            self.is_gone = True
            raise

    def _send(self, message: dict[str, Any]) -> None:
        lines, self._unsent = self._unsent + line_of(message), b""
        try:
            self.caller.sendall(lines)
        except OSError:
            raise CallerGone from None

    def _line(self) -> bytes:
        while b"\n" not in self._received:
            try:
                data = self.caller.recv(1 << 16)
            except OSError:
                data = b""
            if not data or len(self._received) + len(data) > MOST_LINE_BYTES:
                raise CallerGone
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line


class AnnouncedConnection:
    """A store's connection that announces each statement before it runs.

    SQLite's own trace callback could not stop the statement for a caller that is gone; raising here does.
    """

    def __init__(self, db: sqlite.StoreConnection, conversation: Conversation) -> None:
        self._db = db
        self._conversation = conversation
        self.path = db.path

    @property
    def in_transaction(self) -> bool:
        """As in sqlite3."""
        return self._db.in_transaction

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """As in sqlite3.  Raises: CallerGone; then only the ROLLBACK still runs."""
        verb = sql.split(None, 1)[0].upper()
        if verb != "PRAGMA" and not self._conversation.is_gone:
            self._conversation.announce("statement", verb)
        return self._db.execute(sql, parameters)

    def close(self) -> None:
        """As in sqlite3."""
        self._db.close()
