"""The provider as a file: one ledger, opened by the process that calls it."""

from __future__ import annotations

from labkit.boundaries import Boundary, Reached, nowhere
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action, Postcondition, Reading, SubmitResult, SubmitStatus


class FileProvider:
    """The four calls over one ledger.  Every call that writes is one transaction of its own."""

    def __init__(self, ledger: Ledger, now_ms: int, reached: Reached = nowhere) -> None:
        self.ledger = ledger
        self.now_ms = now_ms
        self.reached = reached

    def fence(self, subject: str, epoch: int) -> int:
        """Announce a takeover; returns the highest epoch known."""
        with atomic(self.ledger.db):
            return self.ledger.fence(subject, epoch)

    def submit(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """Ask for the effect, in one transaction.  Between its commit and this return lies the gap."""
        with atomic(self.ledger.db):
            result = self.insert(operation_id, action, epoch)
        if result.status == "committed":
            self.reached(Boundary.EFFECT_COMMITTED)
        return result

    def insert(self, operation_id: str | None, action: Action, epoch: int = 0) -> SubmitResult:
        """What `submit` does inside its transaction: the caller begins it and commits."""
        result = self.ledger.submit(operation_id, action, epoch, self.now_ms)
        if result.status == "committed":
            self.reached(Boundary.EFFECT_INSERTED)
        return result

    def read(self, operation_id: str) -> Reading:
        """What the ledger knows of an operation.  Changes nothing."""
        return self.ledger.read(operation_id, self.now_ms)

    def mandate_refusal(self, action: Action) -> SubmitStatus | None:
        """Why the mandate would not permit this now, None where it would.  Changes nothing."""
        return self.ledger.mandate_refusal(action)

    def postcondition(self, action: Action) -> Postcondition:
        """Whether the subject has exactly one effect of this kind, for this amount and currency."""
        effects = self.ledger.effects_of(action.subject, action.kind)
        wanted = (action.amount_minor, action.currency)
        holds = len(effects) == 1 and (effects[0].amount_minor, effects[0].currency) == wanted
        statement = f"{action.subject} has {len(effects)} effect(s) of kind {action.kind}"
        return Postcondition(holds, statement, self.ledger.name, self.now_ms)
