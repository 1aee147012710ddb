"""The serving side of `socket`: ledgers of one folder, for whoever connects, a thread a connection.

The server trusts nothing that it is sent: lines are bounded, arguments are checked, and the time of a
call is the server's.  A caller that goes away in the middle of a transaction has its transaction undone.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from labkit.boundaries import Boundary
from labkit.errors import LabError
from labkit.providers.file import FileProvider
from labkit.providers.socket import GO, MOST_LINE_BYTES
from labkit.providers.wire import checked, plain, refused, text
from labkit.stores import sqlite
from labkit.stores.ledger import Ledger

MOST_CONNECTIONS = 8  # at one time
MOST_CALLS = 5000  # of one connection


@dataclass(slots=True)
class Announced:
    """What a server has announced: each statement, with what `look` saw right before, and how many came about."""

    look: Callable[[], str] = str
    seen: list[tuple[str, str]] = field(default_factory=list)
    let_through: int = 0


class CallerGone(BaseException):
    """The caller died or left; not an Exception, so that nothing on the way takes it for a failure."""


class LedgerServer:
    """Serves the ledgers `name -> file` at a Unix socket address.  Use it as a context.

    `now_ms` is the time of every call that it serves, `look` is asked before each statement.  Closing
    waits until each caller has left.
    """

    def __init__(
        self, address: Path, ledgers: Mapping[str, Path], now_ms: int, look: Callable[[], str] = str
    ) -> None:
        self.announced = Announced(look)
        self.ledgers = dict(ledgers)
        self.now_ms = now_ms
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(address))
        self._listener.listen(MOST_CONNECTIONS)
        self._address = address
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Serve nobody any more, and return once every transaction has ended."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._address.unlink(missing_ok=True)

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                caller, _ = self._listener.accept()
                if sum(thread.is_alive() for thread in self._threads) >= MOST_CONNECTIONS:
                    caller.close()
                    continue
                thread = threading.Thread(target=self._serve, args=(caller,), daemon=True)
                self._threads.append(thread)
                self._sockets.append(caller)
                thread.start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, suppress(CallerGone, OSError):
            Conversation(caller, self.ledgers, self.now_ms, self.announced).hold()


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
        self._received = b""
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
        """Say what comes next and wait until the caller, alive, lets it come.  Raises: CallerGone."""
        if kind == "statement":
            self.announced.seen.append((name, self.announced.look()))
        try:
            self._send({kind: name})
            if self._line() != GO.strip():
                raise CallerGone
            self.announced.let_through += kind == "statement"
        except CallerGone:
            self.is_gone = True
            raise

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.caller.sendall(json.dumps(message).encode() + b"\n")
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
