"""Moves 2 to 5 of recovery: what the journal, the effect's owner and the approver say.

Nothing here changes the world.  The only write is the journal's note of what was last observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.boundaries import Boundary
from labkit.errors import AmbiguousOutcome, CodePathChanged, Conflict, UnknownName
from labkit.protocol import attempt, dispositions
from labkit.protocol.parties import Parties
from labkit.protocol.recovery import decide
from labkit.protocol.states import State, progress_of
from labkit.stores.sqlite import atomic
from labkit.values import AuthorityEvidence, Decision, EffectStatus, Operation, Reading, Workflow

_BEFORE_ANY_CALL = (State.NOT_ADMITTED, State.ADMITTED, State.NEEDS_REAUTHORISATION)
_EFFECT_RECORDED = (State.EFFECT_COMMITTED, State.OUTCOME_VERIFIED)


@dataclass(frozen=True, slots=True)
class Found:
    """What moves 4 and 5 read, and what follows from it."""

    decision: Decision
    reading: Reading
    authority: AuthorityEvidence


def reconstruct(workflow: Workflow, step: str) -> Operation:
    """Moves 2 and 3: the recorded operation, with the id it has always had.  Nothing is minted here."""
    if workflow.code_path != attempt.CODE_PATH:
        raise CodePathChanged(
            f"workflow {workflow.workflow_id} was written by {workflow.code_path}, this is {attempt.CODE_PATH}",
            "resume it with the code that began it",
        )
    for operation in workflow.operations:
        if operation.step == step:
            return operation
    raise UnknownName(
        f"step {step} of {workflow.workflow_id} has no recorded intent", "record the intent first"
    )


def find(parties: Parties, operation: Operation) -> Found:
    """Moves 4 and 5 in their order, and the decision."""
    reading = read_first(parties, operation)
    authority = resolve(parties, operation)
    return Found(decision_for(operation, reading, authority), reading, authority)


def read_first(parties: Parties, operation: Operation) -> Reading:
    """Move 4: the owner's word, or where the owner cannot tell, that of a person who has answered."""
    reading = ask_owner(parties, operation)
    said = dispositions.standing(parties.journal, operation) if reading.status == "unknown" else None
    if said is not None and said.answer == "confirmed_applied":
        reading = Reading("committed", None, f"{said.answer} by {said.actor}", said.at_ms)
    no_effect = reading.status in ("absent", "failed_retryable")
    if no_effect and operation.retries >= operation.max_retries:
        reading = replace(reading, status="failed_exhausted")
    with atomic(parties.journal.db):
        parties.require_claim(operation)
        parties.journal.observe(operation.operation_id, reading)
    parties.reached(Boundary.EFFECT_READ)
    return reading


def ask_owner(parties: Parties, operation: Operation) -> Reading:
    """What the effect's owner says.  A receipt that does not prove this operation leaves it `unknown`."""
    if not operation.idempotent:  # there is no key to ask by: the receipt was heard at the call, or never
        status: EffectStatus = "absent" if operation.state in _BEFORE_ANY_CALL else "unknown"
        status = "committed" if operation.state in _EFFECT_RECORDED else status
        return Reading(status, None, "no key to ask by", parties.now_ms)
    try:
        reading = parties.provider.read(operation.operation_id)
    except AmbiguousOutcome:
        return Reading("unknown", None, "no answer", parties.now_ms)
    if reading.status != "committed" or (reading.receipt and attempt.proves(reading.receipt, operation)):
        return reading
    return replace(reading, status="unknown")


def resolve(parties: Parties, operation: Operation) -> AuthorityEvidence:
    """Move 5: what the approver says.  Contradictory records permit nothing, and hide no effect."""
    try:
        return parties.authority.resolve(
            operation.operation_id, operation.action_digest, operation.approval_id, parties.now_ms
        )
    except (Conflict, UnknownName) as error:
        return AuthorityEvidence("revoked", error.message, parties.authority.policy_version())


def decision_for(operation: Operation, reading: Reading, authority: AuthorityEvidence) -> Decision:
    """The row of the decision table; an operation that was abandoned stays so."""
    if operation.state == State.ABANDONED and reading.status != "committed":
        return Decision("abandon", "it was abandoned before, and that is final")
    if operation.state == State.ABANDONED:
        return Decision("reconcile", "the journal abandoned what the ledger holds")
    decision = decide(progress_of(operation.state), reading.status, authority.status)
    if decision.kind == "abandon" and authority.other_operation_id:
        return replace(decision, because=f"{decision.because}: {authority.other_operation_id}")
    if decision.kind == "reconcile" and reading.receipt is not None:
        return replace(
            decision, because="receipt_corrupt: what the owner holds does not prove this operation"
        )
    return decision
