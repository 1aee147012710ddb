"""What a worker may ask of the owner of an effect.  Five calls, whoever answers them."""

from __future__ import annotations

from typing import Protocol

from labkit.values import Action, Postcondition, Reading, SubmitResult, SubmitStatus


class Provider(Protocol):
    """The owner of one kind of effect: a file here, a socket or HTTP service elsewhere."""

    def fence(self, subject: str, epoch: int) -> int:
        """Announce a takeover; returns the highest epoch known.  Older epochs are refused from now on."""

    def submit(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """Ask for the effect.  With an operation id, asking again gives the original receipt.

        Raises:
            AmbiguousOutcome: the call was sent and no answer came back; the effect may have happened.
        """

    def read(self, operation_id: str) -> Reading:
        """What became of an operation.  Changes nothing."""

    def mandate_refusal(self, action: Action) -> SubmitStatus | None:
        """Why the mandate would not permit this action now, None where it would.

        A belief as soon as it is read: only `submit` asks inside the payment's own transaction.
        """

    def postcondition(self, action: Action) -> Postcondition:
        """Whether the business fact that the action was for holds, read independently of any key."""
