"""A person's word on an unknown outcome: applied, or not applied.

It is the only thing besides a new observation that ends UNKNOWN_OUTCOME.  The first explicit answer
to a doubt stands; a later different one is refused, and the timeline shows both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from labkit.errors import Conflict, ForbiddenMove
from labkit.protocol.parties import Parties
from labkit.protocol.states import Evidence, State
from labkit.stores import chain
from labkit.stores.journal import Journal
from labkit.stores.sqlite import atomic
from labkit.values import Operation

Answer = Literal["confirmed_applied", "confirmed_not_applied"]

LEADS_TO: dict[Answer, State] = {
    "confirmed_applied": State.EFFECT_COMMITTED,
    "confirmed_not_applied": State.ADMITTED,
}


@dataclass(frozen=True, slots=True)
class Disposition:
    """Who said what about an unknown outcome, and when."""

    answer: Answer
    actor: str
    at_ms: int


def standing(journal: Journal, operation: Operation) -> Disposition | None:
    """The answer to the operation's latest doubt, None where it was never in doubt or nobody has answered."""
    for event in reversed(journal.events(operation.workflow_id)):
        body = chain.body_of(event)
        if body.get("operation_id") != operation.operation_id:
            continue
        if event["kind"] == "reconciled":
            return Disposition(body["answer"], body["actor"], event["at_ms"])
        if event["kind"] == "moved" and body["to"] == State.UNKNOWN_OUTCOME:
            return None
    return None


def reconcile(parties: Parties, operation: Operation, answer: Answer) -> State:
    """Settle an unknown outcome by the word of `parties.actor`; the same answer again changes nothing.

    It claims the workflow and announces the epoch, so that a slow worker of before can no longer
    make the answer untrue.

    Raises:
        Conflict: another answer stands already.
        ForbiddenMove: nothing about this operation is unknown.
        StaleClaim: another worker moved the workflow meanwhile.
    """
    workflow = parties.journal.workflow(operation.workflow_id)
    with parties.showing_refusals(workflow.workflow_id):
        first = standing(parties.journal, operation)
        if first is not None:
            return _keep(first, parties, operation, answer)
        if parties.state(operation) != State.UNKNOWN_OUTCOME:
            raise ForbiddenMove(
                f"{operation.operation_id} is {parties.state(operation)}, and nothing about it is unknown",
                "read its timeline; only UNKNOWN_OUTCOME is reconciled",
            )
        claimed = parties.claim(workflow, operation.action.subject)
        claimed.provider.fence(operation.action.subject, claimed.epoch)
        with atomic(claimed.journal.db):
            claimed.note(operation, "reconciled", answer=answer, actor=claimed.actor)
            claimed.move(
                operation, LEADS_TO[answer], Evidence.DISPOSITION, answer=answer, actor=claimed.actor
            )
    return claimed.state(operation)


def _keep(first: Disposition, parties: Parties, operation: Operation, answer: Answer) -> State:
    """The first answer stands; another one is refused, with an event that shows who tried."""
    if answer == first.answer:
        return parties.state(operation)
    body = {
        "operation_id": operation.operation_id, "answer": answer, "actor": parties.actor,
        "stands": first.answer, "by": first.actor,
    }  # fmt: skip
    with atomic(parties.journal.db):
        parties.journal.append(operation.workflow_id, "reconcile_refused", body, parties.now_ms)
    raise Conflict(
        f"{first.actor} has said {first.answer} of {operation.operation_id} already",
        "the first decision stands; read the timeline",
    )
