"""The provider behind a local socket: the ledger is another process's, and so is its commit.

One JSON object a line, both ways.  While a call runs the server announces each statement and boundary
that it is about to pass and waits for the client to say `go`; so the caller has the same crash points
as with the ledger as a file.  A caller that dies in between is noticed, and its transaction undone.
Where the caller knows that nothing will happen to it at the next few, it says so with its call (`free`),
and the server announces these without waiting.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit import errors
from labkit.boundaries import Boundary, Reached, nowhere
from labkit.errors import AmbiguousOutcome, InfrastructureError, LabError
from labkit.values import Action, Postcondition, Reading, Receipt, SubmitResult, SubmitStatus

MOST_LINE_BYTES = 256 * 1024
GO = b"go\n"

Statement = Callable[[str], None]
Free = Callable[[], int]


def unnoticed(verb: str) -> None:
    """The statement announcer of production: statements pass unnoticed."""


def hold_each() -> int:
    """How many of the next announcements need no answer, in production: none."""
    return 0


class SocketProvider:
    """The five calls to the ledger `name`, served at `address`.  The connection opens on first use.

    `reached` and `statement` hear of each announcement before it comes about, but for the next `free()`,
    of which they hear when the server goes on to wait or has answered.
    """

    def __init__(
        self, address: Path, name: str, reached: Reached = nowhere, statement: Statement = unnoticed,
        free: Free = hold_each,
    ) -> None:  # fmt: skip
        self.address = address
        self.name = name
        self.reached = reached
        self.statement = statement
        self.free = free
        self._socket: socket.socket | None = None
        self._received = b""

    def fence(self, subject: str, epoch: int) -> int:
        """Announce a takeover; returns the highest epoch known."""
        return int(self._ask("fence", subject, epoch))

    def submit(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """Ask for the effect.  Between its commit and this return lies the gap.

        Raises:
            AmbiguousOutcome: the server went away before it answered.
        """
        found = self._ask("submit", operation_id, asdict(action), epoch)
        return SubmitResult(found["status"], receipt_of(found["receipt"]))

    def read(self, operation_id: str) -> Reading:
        """What the ledger knows of an operation.  Changes nothing."""
        found = self._ask("read", operation_id)
        return Reading(
            found["status"], receipt_of(found["receipt"]), found["source"], found["observed_at_ms"]
        )

    def mandate_refusal(self, action: Action) -> SubmitStatus | None:
        """Why the mandate would not permit this now, None where it would.  Changes nothing."""
        refusal: SubmitStatus | None = self._ask("mandate_refusal", asdict(action))
        return refusal

    def postcondition(self, action: Action) -> Postcondition:
        """Whether the subject has exactly one effect of this kind, for this amount and currency."""
        return Postcondition(**self._ask("postcondition", asdict(action)))

    def close(self) -> None:
        """Leave.  What was committed stays."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._received = b""

    # --- the wire ---------------------------------------------------------------------------

    def _ask(self, call: str, *arguments: Any) -> Any:
        try:
            return self._answer_to(call, arguments)
        except LabError:
            raise
        except BaseException:  # broken off by a listener or a signal: no later call may get this one's answer
            self.close()
            raise

    def _answer_to(self, call: str, arguments: tuple[Any, ...]) -> Any:
        free = self.free()
        asked = {"ledger": self.name, "call": call, "arguments": arguments, "free": free}
        self._send(json.dumps(asked).encode() + b"\n", call)
        while True:
            message = json.loads(self._line(call))
            if "statement" in message:
                self.statement(message["statement"])
            elif "boundary" in message:
                self.reached(Boundary(message["boundary"]))
            elif "error" in message:
                raise error_of(message)
            else:
                return message["answer"]
            free -= 1
            if free < 0:
                self._send(GO, call)

    def _send(self, data: bytes, call: str) -> None:
        if self._socket is None:
            self._socket = self._connected()
        try:
            self._socket.sendall(data)
        except OSError:
            raise self._unanswered(call) from None

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(self.address))
        except OSError as error:
            connection.close()
            raise InfrastructureError(
                f"provider {self.name} cannot be reached ({error.strerror})", "see that it is served"
            ) from error
        return connection

    def _unanswered(self, call: str) -> AmbiguousOutcome:
        self.close()
        return AmbiguousOutcome(f"no reply to `{call}`", "read the effect before anything else")

    def _line(self, call: str) -> bytes:
        assert self._socket is not None
        while b"\n" not in self._received:
            try:
                data = self._socket.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                raise self._unanswered(call)
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line


def receipt_of(found: dict[str, Any] | None) -> Receipt | None:
    """A receipt from the wire."""
    return Receipt(**found) if found is not None else None


def error_of(message: dict[str, Any]) -> LabError:
    """The labkit error that a call ended in, from the wire."""
    kind = getattr(errors, str(message["error"]), InfrastructureError)
    if not (isinstance(kind, type) and issubclass(kind, LabError)):
        kind = InfrastructureError
    return kind(message["message"], message["cure"])
