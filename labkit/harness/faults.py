"""A provider whose replies get lost: the effect commits, and the living caller never hears of it.

No kill can reach this: the caller is alive, and must decide what its ignorance means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.errors import AmbiguousOutcome
from labkit.providers.interface import Provider
from labkit.values import Action, Postcondition, Reading, SubmitResult, SubmitStatus


class LossyProvider:
    """Passes every call on, then asks `is_lost(call)` whether the reply arrives."""

    def __init__(self, inner: Provider, is_lost: Callable[[str], bool]) -> None:
        self.inner = inner
        self.is_lost = is_lost

    def _reply(self, call: str, answer: Any) -> Any:
        if self.is_lost(call):
            raise AmbiguousOutcome(f"no reply to `{call}`", "read the effect before anything else")
        return answer

    def fence(self, subject: str, epoch: int) -> int:
        """Announce a takeover; the answer may get lost."""
        return int(self._reply("fence", self.inner.fence(subject, epoch)))

    def submit(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """Ask for the effect; the answer may get lost.  Raises: AmbiguousOutcome."""
        result: SubmitResult = self._reply("submit", self.inner.submit(operation_id, action, epoch))
        return result

    def read(self, operation_id: str) -> Reading:
        """Ask what became of an operation; the answer may get lost."""
        reading: Reading = self._reply("read", self.inner.read(operation_id))
        return reading

    def mandate_refusal(self, action: Action) -> SubmitStatus | None:
        """Ask whether the mandate stands; the answer may get lost."""
        refusal: SubmitStatus | None = self._reply("mandate_refusal", self.inner.mandate_refusal(action))
        return refusal

    def postcondition(self, action: Action) -> Postcondition:
        """Ask for the business fact; the answer may get lost."""
        fact: Postcondition = self._reply("postcondition", self.inner.postcondition(action))
        return fact
