"""The first run: intent -> admission -> effect -> acknowledgement -> checkpoint.

Each step is one commit in one store, and between any two of them the process may die.  The order
is chosen so that whatever is found later can be continued: identity before permission, permission
before the call, the owner's receipt before the claim.
"""

from __future__ import annotations

from labkit.boundaries import Boundary
from labkit.errors import AmbiguousOutcome, KnownFailure, StaleClaim
from labkit.protocol.parties import Parties
from labkit.protocol.states import Evidence, State
from labkit.stores.sqlite import atomic
from labkit.values import AUTHORITY_REFUSALS, Operation, SubmitResult

CODE_PATH = "charge/1"


def first_run(parties: Parties, operation: Operation) -> str:
    """Perform one operation whose intent is recorded and that nobody has tried; returns its last state.

    Raises:
        StaleClaim: another worker has the workflow.
    """
    journal = parties.journal
    workflow = journal.workflow(operation.workflow_id)
    with parties.showing_refusals(workflow.workflow_id):
        with atomic(journal.db):
            epoch = journal.claim(workflow.workflow_id, workflow.version, parties.actor, parties.now_ms)
        parties.reached(Boundary.INTENT_RECORDED)
        if not admit(parties, operation):
            return journal.operation(operation.operation_id).state
        return execute(parties, operation, epoch)


def admit(parties: Parties, operation: Operation) -> bool:
    """Enter under valid authority: the approver's record first, then the journal's."""
    with atomic(parties.authority.db):
        evidence = parties.authority.admit(
            operation.operation_id, operation.action_digest, operation.approval_id, parties.now_ms
        )
    state = parties.journal.operation(operation.operation_id).state
    fresh = state == State.NEEDS_REAUTHORISATION
    with atomic(parties.journal.db):
        if evidence.status == "admitted":
            why = Evidence.FRESH_APPROVAL if fresh else Evidence.CURRENT_APPROVAL
            parties.move(operation, State.ADMITTED, why, approval_id=operation.approval_id)
        elif not fresh:
            parties.move(
                operation, State.NEEDS_REAUTHORISATION, Evidence.AUTHORITY_MISSING, reason=evidence.reason
            )
    parties.reached(Boundary.ADMITTED)
    return evidence.status == "admitted"


def execute(parties: Parties, operation: Operation, epoch: int) -> str:
    """Call the owner of the effect once, and record what it answered; returns the state reached."""
    journal = parties.journal
    with atomic(journal.db):
        require_claim(parties, operation, epoch)
        attempt_id = journal.start_attempt(operation.operation_id, epoch, parties.now_ms)
        parties.move(operation, State.EFFECT_PENDING, Evidence.DISPATCHED, epoch=epoch)
    parties.reached(Boundary.DISPATCHED)
    try:
        result = parties.provider.submit(
            operation.operation_id if operation.idempotent else None, operation.action, epoch
        )
    except KnownFailure as error:
        return failed(parties, operation, attempt_id, str(error))
    except AmbiguousOutcome as error:
        return doubt(parties, operation, str(error))
    with atomic(journal.db):
        require_claim(parties, operation, epoch)
        journal.finish_attempt(attempt_id, result.status)
        acknowledge(parties, operation, result)
    parties.reached(Boundary.ACKNOWLEDGED)
    state = journal.operation(operation.operation_id).state
    if state != State.EFFECT_COMMITTED:
        return state
    return complete(parties, operation, epoch)


def acknowledge(parties: Parties, operation: Operation, result: SubmitResult) -> None:
    """Record the owner's answer: its receipt, or its refusal.  A damaged receipt proves nothing."""
    receipt = result.receipt
    if receipt is not None and not receipt.is_intact:
        parties.move(operation, State.UNKNOWN_OUTCOME, Evidence.NO_ANSWER, reason="receipt_corrupt")
    elif receipt is not None:
        detail = {"receipt": receipt.digest, "effect_id": receipt.effect_id, "replayed": result.replayed}
        parties.move(operation, State.EFFECT_COMMITTED, Evidence.OWNERS_RECEIPT, **detail)
    elif result.status in AUTHORITY_REFUSALS:
        parties.move(operation, State.NEEDS_REAUTHORISATION, Evidence.OWNER_REFUSES, reason=result.status)
    elif result.status == "stale_epoch":
        raise StaleClaim(f"the provider knows a newer epoch for {operation.action.subject}", "stop")
    else:
        parties.move(operation, State.ABANDONED, Evidence.EXPLICIT_DECISION, reason=result.status)


def complete(parties: Parties, operation: Operation, epoch: int) -> str:
    """Read the business fact back, then checkpoint; a fact that does not hold stops here."""
    postcondition = parties.provider.postcondition(operation.action)
    reading = parties.provider.read(operation.operation_id) if operation.idempotent else None
    with atomic(parties.journal.db):
        require_claim(parties, operation, epoch)
        if postcondition.holds:
            parties.move(
                operation, State.OUTCOME_VERIFIED, Evidence.POSTCONDITION_READ, seen=postcondition.statement
            )
            parties.journal.checkpoint(
                operation.operation_id, reading.receipt if reading else None, parties.now_ms
            )
        else:
            parties.journal.append(
                operation.workflow_id,
                "postcondition_failed",
                {"seen": postcondition.statement},
                parties.now_ms,
            )
    parties.reached(Boundary.CHECKPOINTED)
    return parties.journal.operation(operation.operation_id).state


def failed(parties: Parties, operation: Operation, attempt_id: int, why: str) -> str:
    """A known failure consumes one try, durably; the last one ends the operation."""
    with atomic(parties.journal.db):
        parties.journal.finish_attempt(attempt_id, "failed_retryable")
        parties.journal.count_retry(operation.operation_id)
        parties.move(operation, State.ADMITTED, Evidence.OWNER_SAYS_ABSENT, reason=why)
        now = parties.journal.operation(operation.operation_id)
        if now.retries >= now.max_retries:
            parties.move(operation, State.ABANDONED, Evidence.EXPLICIT_DECISION, reason="retries_exhausted")
    return parties.journal.operation(operation.operation_id).state


def doubt(parties: Parties, operation: Operation, why: str) -> str:
    """Nobody can tell whether the effect happened, and no readback will: say so, and stop."""
    with atomic(parties.journal.db):
        parties.move(operation, State.UNKNOWN_OUTCOME, Evidence.NO_ANSWER, reason=why)
    return State.UNKNOWN_OUTCOME


def require_claim(parties: Parties, operation: Operation, epoch: int) -> None:
    """Refuse to write for a worker that has been taken over.  Raises: StaleClaim."""
    parties.journal.require_epoch(operation.workflow_id, epoch)
