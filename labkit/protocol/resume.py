"""The seven moves of recovery, in order.  Everything before move 6 reads; nothing before it acts.

1 fence the resumer  2 reconstruct progress  3 recover the operation id  4 read the effect first
5 resolve authority  6 execute or reconcile  7 write the recovery receipt
"""

from __future__ import annotations

from labkit.boundaries import Boundary
from labkit.errors import StaleClaim
from labkit.protocol import attempt
from labkit.protocol.parties import Outcome, Parties
from labkit.protocol.recovery_receipts import receipt_of
from labkit.protocol.states import MOVES, Evidence, State
from labkit.protocol.witnesses import Found, find, reconstruct
from labkit.stores.sqlite import atomic
from labkit.values import Operation, Workflow


def resume(parties: Parties, workflow_id: str, step: str = "charge") -> State:
    """Recover one operation after a crash; returns the state it is left in.

    Safe to call any number of times, by any number of workers.

    Raises:
        StaleClaim: another resumer was first, or has taken over since.
        CodePathChanged: the history was written by other code.
        UnknownName: no such workflow, or no intent was recorded for this step.
    """
    with parties.showing_refusals(workflow_id):
        parties, workflow = fence(parties, workflow_id, step)  # 1
        operation = reconstruct(workflow, step)  # 2 and 3
        found = find(parties, operation)  # 4 and 5
        parties.reached(Boundary.DECIDED)
        outcome = carry_out(parties, operation, found)  # 6
        with atomic(parties.journal.db):  # 7
            parties.require_claim(operation)
            parties.journal.record_recovery(
                receipt_of(parties, workflow, operation, found, outcome), parties.now_ms
            )
        parties.reached(Boundary.RECEIPT_WRITTEN)
        return outcome.state


def fence(parties: Parties, workflow_id: str, step: str) -> tuple[Parties, Workflow]:
    """Move 1: claim in the journal, then at the provider: a stale worker may be alive and about to pay."""
    workflow = parties.journal.workflow(workflow_id)
    subject = reconstruct(workflow, step).action.subject  # history of other code is not even claimed
    claimed = parties.claim(workflow, subject)
    if claimed.provider.fence(subject, claimed.epoch) > claimed.epoch:
        raise StaleClaim(f"the provider knows a newer epoch for {subject}", "stop: another worker has it")
    claimed.reached(Boundary.CLAIMED)
    return claimed, claimed.journal.workflow(workflow_id)


def carry_out(parties: Parties, operation: Operation, found: Found) -> Outcome:
    """Move 6: the one place where recovery may change the world, and only on `execute`."""
    because = found.decision.because
    match found.decision.kind:
        case "complete":
            if recognise(parties, operation, found):
                return attempt.complete(parties, operation, found.reading.receipt)
            return Outcome(parties.state(operation), found.reading.receipt)
        case "execute":
            if attempt.admit(parties, operation):
                return attempt.execute(parties, operation)
            return Outcome(parties.state(operation))
        case "reauthorise":
            missing = Evidence.AUTHORITY_MISSING
            return stop(parties, operation, State.NEEDS_REAUTHORISATION, missing, found.authority.reason)
        case "abandon":
            unknown = operation.state == State.UNKNOWN_OUTCOME
            evidence = Evidence.DISPOSITION if unknown else Evidence.EXPLICIT_DECISION
            return stop(parties, operation, State.ABANDONED, evidence, because)
        case _:
            return doubt(parties, operation, found)


def recognise(parties: Parties, operation: Operation, found: Found) -> bool:
    """Bring the journal up to what the ledger says, by moves that the table has.

    An effect without any admission has no such way: it is held, and the event says so.
    """
    receipt, admission = found.reading.receipt, found.authority.admission
    seen = {"receipt": receipt.digest, "effect_id": receipt.effect_id} if receipt else {}
    with atomic(parties.journal.db):
        if operation.state in (State.NOT_ADMITTED, State.NEEDS_REAUTHORISATION):
            if admission is None:
                parties.note(operation, "held", because="an effect without an admission", **seen)
                return False
            why = attempt.ENTRY_EVIDENCE[State(operation.state)]
            parties.move(operation, State.ADMITTED, why, approval_id=admission.approval_id, **seen)
        if parties.state(operation) == State.ADMITTED:
            parties.move(operation, State.EFFECT_PENDING, Evidence.DISPATCHED, **seen)
        if parties.state(operation) == State.EFFECT_PENDING:
            parties.move(operation, State.EFFECT_COMMITTED, Evidence.OWNERS_RECEIPT, **seen)
        elif operation.state == State.UNKNOWN_OUTCOME:
            parties.move(operation, State.EFFECT_COMMITTED, Evidence.DISPOSITION, **seen)
    return True


def doubt(parties: Parties, operation: Operation, found: Found) -> Outcome:
    """Stop for reconciliation.  What the owner says is pending, or denies, is held and not called unknown."""
    if operation.state == State.ADMITTED and found.reading.receipt is not None:
        with atomic(parties.journal.db):  # the owner holds something of ours: so it was dispatched
            parties.move(operation, State.EFFECT_PENDING, Evidence.DISPATCHED, seen=found.reading.source)
    evidence = Evidence.NO_ANSWER if found.reading.status == "unknown" else Evidence.OWNER_SAYS_ABSENT
    return stop(parties, operation, State.UNKNOWN_OUTCOME, evidence, found.decision.because)


def stop(parties: Parties, operation: Operation, to_state: State, why: Evidence, reason: str) -> Outcome:
    """Leave it for a person: move where the table has the move under this evidence, else hold and say so."""
    with atomic(parties.journal.db):
        if MOVES.get((parties.state(operation), to_state)) is why:
            parties.move(operation, to_state, why, reason=reason)
        else:
            parties.note(operation, "held", because=reason)
    return Outcome(parties.state(operation))
