"""Simulated failures of a provider's submit: before the call, on the way there, on the way back."""

from __future__ import annotations

from typing import Literal

from labkit.errors import AmbiguousOutcome, KnownFailure
from labkit.harness.faults import LossyProvider
from labkit.providers.interface import Provider
from labkit.values import Action, Postcondition, Reading, SubmitResult, SubmitStatus

Failure = Literal["none", "known", "lost_request", "lost_reply"]


class FailingProvider:
    """Does not pass a submit on, and says so or (`tells=False`) is not heard of.  Other calls go through."""

    def __init__(self, inner: Provider, tells: bool) -> None:
        self.inner = inner
        self.tells = tells

    def fence(self, subject: str, epoch: int) -> int:
        """Announce a takeover."""
        return self.inner.fence(subject, epoch)

    def submit(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """Have no effect.  Raises: KnownFailure, or AmbiguousOutcome where it does not tell."""
        call = f"{action.kind} of {action.subject} under {operation_id}, epoch {epoch}"
        if self.tells:
            raise KnownFailure(f"the provider is out of order and did nothing: {call}", "resume later")
        raise AmbiguousOutcome(f"no reply to {call}", "read the effect before anything else")

    def read(self, operation_id: str) -> Reading:
        """What became of an operation."""
        return self.inner.read(operation_id)

    def mandate_refusal(self, action: Action) -> SubmitStatus | None:
        """Whether the mandate stands."""
        return self.inner.mandate_refusal(action)

    def postcondition(self, action: Action) -> Postcondition:
        """Whether the business fact holds."""
        return self.inner.postcondition(action)


def failing(provider: Provider, failure: Failure) -> Provider:
    """The provider itself, or one whose submit fails in the way that is named."""
    match failure:
        case "none":
            return provider
        case "known":
            return FailingProvider(provider, tells=True)
        case "lost_request":
            return FailingProvider(provider, tells=False)
        case "lost_reply":
            return LossyProvider(provider, lambda call: call == "submit")
