"""The parties to one run: whose stores, which actor, what time.  Handed in, never looked up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from labkit.boundaries import Reached, nowhere
from labkit.errors import ForbiddenMove
from labkit.protocol.states import Evidence, State, require_move
from labkit.providers.interface import Provider
from labkit.stores.authority import Authority
from labkit.stores.journal import Journal
from labkit.stores.sqlite import atomic
from labkit.values import Operation, Postcondition, Receipt, Workflow


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a run brought one operation, and the evidence that it has in hand."""

    state: State
    receipt: Receipt | None = None
    postcondition: Postcondition | None = None


@dataclass(frozen=True, slots=True)
class Parties:
    """Everything that a run may talk to.  `now_ms` is this run's clock; `actor` labels the audit.

    `epoch` is the claim that this run holds, 0 before it has one.  Every move is made under it, so
    that a worker which was taken over while it slept can change nothing when it wakes.
    """

    journal: Journal
    authority: Authority
    provider: Provider
    now_ms: int
    actor: str = "worker"
    reached: Reached = nowhere
    epoch: int = 0

    def claim(self, workflow: Workflow, subject: str) -> Parties:
        """Take the workflow over as it was read, and return the parties to the run that holds it.

        Raises:
            StaleClaim: it has moved since it was read.
        """
        highest = self.provider.fence(subject, workflow.epoch)
        with atomic(self.journal.db):
            epoch = self.journal.claim(
                workflow.workflow_id, workflow.version, self.actor, self.now_ms, above=highest
            )
        return replace(self, epoch=epoch)

    def require_claim(self, operation: Operation) -> None:
        """Refuse to write for a run that has been taken over; call inside `atomic`.  Raises: StaleClaim."""
        self.journal.require_epoch(operation.workflow_id, self.epoch)

    def state(self, operation: Operation) -> State:
        """The operation's state as the journal has it now."""
        return State(self.journal.operation(operation.operation_id).state)

    def move(self, operation: Operation, to_state: State, why: Evidence, **detail: object) -> None:
        """One guarded move of one operation, with its evidence in the journal; call inside `atomic`.

        Raises:
            ForbiddenMove: the table does not have it.
            StaleClaim: another worker has the workflow.
        """
        self.require_claim(operation)
        require_move(self.state(operation), to_state, why)
        self.journal.move(operation.operation_id, to_state, {"because": why.value, **detail}, self.now_ms)

    def note(self, operation: Operation, kind: str, **body: object) -> None:
        """One event that moves nothing; call inside `atomic`.  Raises: StaleClaim."""
        self.require_claim(operation)
        content = {"operation_id": operation.operation_id, **body}
        self.journal.append(operation.workflow_id, kind, content, self.now_ms)

    @contextmanager
    def showing_refusals(self, workflow_id: str) -> Iterator[None]:
        """A forbidden move undoes its own transaction; this leaves an event that shows it was tried."""
        try:
            yield
        except ForbiddenMove as error:
            with atomic(self.journal.db):
                self.journal.append(workflow_id, "move_refused", {"because": str(error)}, self.now_ms)
            raise
