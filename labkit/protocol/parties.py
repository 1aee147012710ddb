"""The parties to one run: whose stores, which actor, what time.  Handed in, never looked up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from labkit.boundaries import Reached, nowhere
from labkit.errors import ForbiddenMove
from labkit.protocol.states import Evidence, require_move
from labkit.providers.interface import Provider
from labkit.stores.authority import Authority
from labkit.stores.journal import Journal
from labkit.stores.sqlite import atomic
from labkit.values import Operation


@dataclass(frozen=True, slots=True)
class Parties:
    """Everything that a run may talk to.  `now_ms` is this run's clock; `actor` labels the audit."""

    journal: Journal
    authority: Authority
    provider: Provider
    now_ms: int
    actor: str = "worker"
    reached: Reached = nowhere

    def move(self, operation: Operation, to_state: str, why: Evidence, **detail: object) -> None:
        """One guarded move of one operation, with its evidence in the journal; call inside `atomic`.

        Raises:
            ForbiddenMove: the table does not have it.
        """
        current = self.journal.operation(operation.operation_id)
        require_move(current.state, to_state, why)
        self.journal.move(operation.operation_id, to_state, {"because": why.value, **detail}, self.now_ms)

    @contextmanager
    def showing_refusals(self, workflow_id: str) -> Iterator[None]:
        """A forbidden move undoes its own transaction; this leaves an event that shows it was tried."""
        try:
            yield
        except ForbiddenMove as error:
            with atomic(self.journal.db):
                self.journal.append(workflow_id, "move_refused", {"because": str(error)}, self.now_ms)
            raise
