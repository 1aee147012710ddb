"""A provider whose submit fails without having had the effect."""

from __future__ import annotations

from labkit.errors import LabError
from labkit.providers.interface import Provider
from labkit.values import Action, Postcondition, Reading, SubmitResult


class FailingProvider:
    """Raises `error` instead of passing a submit on; every other call goes through."""

    def __init__(self, inner: Provider, error: LabError) -> None:
        self.inner = inner
        self.error = error

    def fence(self, subject: str, epoch: int) -> int:
        """Announce a takeover."""
        return self.inner.fence(subject, epoch)

    def submit(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """Fail.  Raises: the error that this provider was made with."""
        raise self.error

    def read(self, operation_id: str) -> Reading:
        """What became of an operation."""
        return self.inner.read(operation_id)

    def postcondition(self, action: Action) -> Postcondition:
        """Whether the business fact holds."""
        return self.inner.postcondition(action)
