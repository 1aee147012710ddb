"""The serving side of `socket`: ledgers of one folder, for whoever connects, a thread a connection.

The server trusts nothing that it is sent: lines are bounded, arguments are checked, and the time of a
call is the server's.  A caller that goes away in the middle of a transaction has its transaction undone.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from labkit.providers.conversation import Announced, CallerGone, Conversation

MOST_CONNECTIONS = 8  # at one time


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
