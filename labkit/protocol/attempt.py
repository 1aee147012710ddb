"""The first run: intent -> admission -> effect -> acknowledgement -> checkpoint.

Each step is one commit in one store, and between any two of them the process may die.  The order
is chosen so that whatever is found later can be continued: identity before permission, permission
before the call, the owner's receipt before the claim.
"""

from __future__ import annotations

from labkit.boundaries import Boundary
from labkit.errors import AmbiguousOutcome, ForbiddenMove, KnownFailure, StaleClaim
from labkit.protocol.parties import Outcome, Parties
from labkit.protocol.states import Evidence, State
from labkit.stores.sqlite import atomic
from labkit.values import AUTHORITY_REFUSALS, Operation, Receipt, SubmitResult

CODE_PATH = "charge/1"


ENTRY_EVIDENCE = {
    State.NOT_ADMITTED: Evidence.CURRENT_APPROVAL,
    State.NEEDS_REAUTHORISATION: Evidence.FRESH_APPROVAL,
    State.EFFECT_PENDING: Evidence.OWNER_SAYS_ABSENT,
    State.UNKNOWN_OUTCOME: Evidence.DISPOSITION,  # the new observation that there is no effect
}


def first_run(parties: Parties, operation: Operation) -> State:
    """Perform one operation whose intent is recorded and that nobody has tried; returns its last state.

    Raises:
        StaleClaim: another worker has the workflow.
        ForbiddenMove: it was tried before; an event shows that somebody wanted to start it again.
    """
    workflow = parties.journal.workflow(operation.workflow_id)
    with parties.showing_refusals(workflow.workflow_id):
        state = parties.state(operation)
        if state != State.NOT_ADMITTED:
            raise ForbiddenMove(f"{operation.operation_id} is {state}, not new", "resume it instead")
        claimed = parties.claim(workflow, operation.action.subject)
        claimed.reached(Boundary.INTENT_RECORDED)
        if not admit(claimed, operation):
            return claimed.state(operation)
        return execute(claimed, operation).state


def admit(parties: Parties, operation: Operation) -> bool:
    """Bring an operation without an effect to ADMITTED, from where alone the effect may be asked for.

    The approver's record comes first: what the journal says of an admission is a belief.  The
    journal's write lock is held around both, so that nobody can take the workflow over between the
    check of the claim and the approver's commit.  A crash in between leaves the admission.
    """
    with atomic(parties.journal.db):
        parties.require_claim(operation)
        with atomic(parties.authority.db):
            found = parties.authority.admit(
                operation.operation_id, operation.action_digest, operation.approval_id, parties.now_ms
            )
        state = parties.state(operation)
        if found.admission is not None and state in ENTRY_EVIDENCE:
            approval_id = found.admission.approval_id
            parties.move(operation, State.ADMITTED, ENTRY_EVIDENCE[state], approval_id=approval_id)
        elif found.admission is None and state == State.NOT_ADMITTED:
            missing = Evidence.AUTHORITY_MISSING
            parties.move(operation, State.NEEDS_REAUTHORISATION, missing, reason=found.reason)
        elif found.admission is None:
            parties.note(operation, "held", because=found.reason)
    parties.reached(Boundary.ADMITTED)
    return found.admission is not None


def execute(parties: Parties, operation: Operation) -> Outcome:
    """Call the owner of the effect once, and record what it answered.

    Raises:
        StaleClaim: another worker took the workflow over; this one may not even record the answer.
    """
    with atomic(parties.journal.db):
        parties.move(operation, State.EFFECT_PENDING, Evidence.DISPATCHED, epoch=parties.epoch)
        attempt_id = parties.journal.start_attempt(operation.operation_id, parties.epoch, parties.now_ms)
    parties.reached(Boundary.DISPATCHED)
    try:
        result = parties.provider.submit(
            operation.operation_id if operation.idempotent else None, operation.action, parties.epoch
        )
    except KnownFailure as error:
        return failed(parties, operation, attempt_id, str(error))
    except AmbiguousOutcome as error:
        return doubt(parties, operation, str(error))
    if result.status == "stale_epoch":
        raise StaleClaim(f"the provider knows a newer epoch for {operation.action.subject}", "stop")
    with atomic(parties.journal.db):
        state = acknowledge(parties, operation, result)
        parties.journal.finish_attempt(attempt_id, result.status)
    parties.reached(Boundary.ACKNOWLEDGED)
    return complete(parties, operation, result.receipt) if state == State.EFFECT_COMMITTED else Outcome(state)


def acknowledge(parties: Parties, operation: Operation, result: SubmitResult) -> State:
    """Record the owner's answer: its receipt, or its refusal.  A receipt of anything else proves nothing."""
    receipt = result.receipt
    if receipt is not None and not proves(receipt, operation):
        parties.move(operation, State.UNKNOWN_OUTCOME, Evidence.NO_ANSWER, reason="receipt_corrupt")
    elif receipt is not None:
        detail = {"receipt": receipt.digest, "effect_id": receipt.effect_id, "replayed": result.replayed}
        parties.move(operation, State.EFFECT_COMMITTED, Evidence.OWNERS_RECEIPT, **detail)
    elif result.status in AUTHORITY_REFUSALS:
        parties.move(operation, State.NEEDS_REAUTHORISATION, Evidence.OWNER_REFUSES, reason=result.status)
    else:
        parties.move(operation, State.ABANDONED, Evidence.EXPLICIT_DECISION, reason=result.status)
    return parties.state(operation)


def proves(receipt: Receipt, operation: Operation) -> bool:
    """Whether a receipt is undamaged and speaks of these very bytes under this very operation id."""
    expected_id = operation.operation_id if operation.idempotent else None
    is_ours = (receipt.operation_id, receipt.action_digest) == (expected_id, operation.action_digest)
    return is_ours and receipt.is_intact


def complete(parties: Parties, operation: Operation, receipt: Receipt | None) -> Outcome:
    """Read the business fact back, then checkpoint; a fact that does not hold stops here."""
    fact = parties.provider.postcondition(operation.action)
    with atomic(parties.journal.db):
        parties.require_claim(operation)
        now = parties.journal.operation(operation.operation_id)
        if not fact.holds:
            parties.note(operation, "postcondition_failed", seen=fact.statement)
        elif now.state != State.OUTCOME_VERIFIED:
            verified = State.OUTCOME_VERIFIED
            parties.move(operation, verified, Evidence.POSTCONDITION_READ, seen=fact.statement)
            if not now.checkpointed:
                parties.journal.checkpoint(operation.operation_id, receipt, parties.now_ms)
    if fact.holds:
        parties.reached(Boundary.CHECKPOINTED)
    return Outcome(parties.state(operation), receipt, fact)


def failed(parties: Parties, operation: Operation, attempt_id: int, why: str) -> Outcome:
    """A known failure consumes one try, durably; the last one ends the operation."""
    with atomic(parties.journal.db):
        parties.move(operation, State.ADMITTED, Evidence.OWNER_SAYS_ABSENT, reason=why)
        parties.journal.finish_attempt(attempt_id, "failed_retryable")
        parties.journal.count_retry(operation.operation_id)
        now = parties.journal.operation(operation.operation_id)
        if now.retries >= now.max_retries:
            parties.move(operation, State.ABANDONED, Evidence.EXPLICIT_DECISION, reason="retries_exhausted")
    return Outcome(parties.state(operation))


def doubt(parties: Parties, operation: Operation, why: str) -> Outcome:
    """No answer came, so nobody here can tell whether the effect happened: say so, and stop.

    It consumes no try, and the attempt keeps no outcome: none was heard.
    """
    with atomic(parties.journal.db):
        parties.move(operation, State.UNKNOWN_OUTCOME, Evidence.NO_ANSWER, reason=why)
    return Outcome(State.UNKNOWN_OUTCOME)
