"""The seven moves of recovery, in order.  Everything before move 6 reads; nothing before it acts.

1 fence the resumer  2 reconstruct progress  3 recover the operation id  4 read the effect first
5 resolve authority  6 execute or reconcile  7 write the recovery receipt
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.boundaries import Boundary
from labkit.errors import CodePathChanged
from labkit.protocol import attempt
from labkit.protocol.parties import Parties
from labkit.protocol.recovery import decide
from labkit.protocol.states import MOVES, Evidence, State, progress_of
from labkit.stores.sqlite import atomic
from labkit.values import AuthorityEvidence, Decision, Operation, Reading, RecoveryReceipt, Workflow


@dataclass(frozen=True, slots=True)
class Found:
    """What moves 4 and 5 read, and what follows from it."""

    decision: Decision
    reading: Reading
    authority: AuthorityEvidence


def resume(parties: Parties, workflow_id: str, step: str = "charge") -> str:
    """Recover one operation after a crash; returns the state it is left in.

    Safe to call any number of times, by any number of workers.

    Raises:
        StaleClaim: another resumer was first.
        CodePathChanged: the history was written by other code.
    """
    with parties.showing_refusals(workflow_id):
        workflow, epoch = fence(parties, workflow_id, step)  # 1
        operation = reconstruct(workflow, step)  # 2 and 3
        reading = read_first(parties, operation)  # 4
        authority = parties.authority.resolve(  # 5
            operation.operation_id, operation.action_digest, operation.approval_id, parties.now_ms
        )
        found = Found(
            decide(progress_of(operation.state), reading.status, authority.status), reading, authority
        )
        parties.reached(Boundary.DECIDED)
        state = carry_out(parties, operation, found, epoch)  # 6
        write_receipt(parties, operation, found, workflow)  # 7
        return state


def fence(parties: Parties, workflow_id: str, step: str) -> tuple[Workflow, int]:
    """Move 1: claim in the journal, then at the provider: a stale worker may be alive and about to pay."""
    workflow = parties.journal.workflow(workflow_id)
    with atomic(parties.journal.db):
        epoch = parties.journal.claim(workflow_id, workflow.version, parties.actor, parties.now_ms)
    parties.provider.fence(reconstruct(workflow, step).action.subject, epoch)
    parties.reached(Boundary.CLAIMED)
    return parties.journal.workflow(workflow_id), epoch


def reconstruct(workflow: Workflow, step: str) -> Operation:
    """Moves 2 and 3: the recorded operation, with the id it has always had.  Nothing is minted here."""
    if workflow.code_path != attempt.CODE_PATH:
        raise CodePathChanged(
            f"workflow {workflow.workflow_id} was written by {workflow.code_path}, this is {attempt.CODE_PATH}",
            "resume it with the code that began it",
        )
    return next(operation for operation in workflow.operations if operation.step == step)


def read_first(parties: Parties, operation: Operation) -> Reading:
    """Move 4: ask the owner.  A provider without keys cannot be asked once a call may have gone out."""
    if operation.idempotent:
        reading = parties.provider.read(operation.operation_id)
    else:
        was_called = operation.state not in (State.NOT_ADMITTED, State.ADMITTED, State.NEEDS_REAUTHORISATION)
        reading = Reading("unknown" if was_called else "absent", None, "nobody can be asked", parties.now_ms)
    if reading.status == "absent" and operation.retries >= operation.max_retries:
        reading = replace(reading, status="failed_exhausted")
    with atomic(parties.journal.db):
        parties.journal.observe(operation.operation_id, reading)
    parties.reached(Boundary.EFFECT_READ)
    return reading


def carry_out(parties: Parties, operation: Operation, found: Found, epoch: int) -> str:
    """Move 6: the one place where recovery may change the world, and only on `execute`."""
    if operation.state == State.ABANDONED or (
        operation.state == State.OUTCOME_VERIFIED and operation.checkpointed
    ):
        return operation.state
    match found.decision.kind:
        case "complete":
            if not recognise(parties, operation, found):
                return parties.journal.operation(operation.operation_id).state
            return attempt.complete(parties, operation, epoch)
        case "execute":
            if not ready(parties, operation):
                return parties.journal.operation(operation.operation_id).state
            return attempt.execute(parties, operation, epoch)
        case "reauthorise":
            return stop(parties, operation, State.NEEDS_REAUTHORISATION, found.authority.reason)
        case "abandon":
            other = found.authority.other_operation_id or ""
            return stop(parties, operation, State.ABANDONED, f"{found.decision.because} {other}".strip())
        case _:
            return stop(parties, operation, State.UNKNOWN_OUTCOME, found.decision.because)


def recognise(parties: Parties, operation: Operation, found: Found) -> bool:
    """Bring the journal up to what the ledger says.  A damaged receipt stops for reconciliation."""
    receipt = found.reading.receipt
    if receipt is None or not receipt.is_intact:
        stop(parties, operation, State.UNKNOWN_OUTCOME, "receipt_missing_or_corrupt")
        return False
    detail = {"receipt": receipt.digest, "effect_id": receipt.effect_id}
    with atomic(parties.journal.db):
        if operation.state == State.ADMITTED:
            parties.move(operation, State.EFFECT_PENDING, Evidence.DISPATCHED, **detail)
        if operation.state == State.UNKNOWN_OUTCOME:
            parties.move(operation, State.EFFECT_COMMITTED, Evidence.DISPOSITION, **detail)
        elif operation.state != State.EFFECT_COMMITTED:
            parties.move(operation, State.EFFECT_COMMITTED, Evidence.OWNERS_RECEIPT, **detail)
    return True


def ready(parties: Parties, operation: Operation) -> bool:
    """Bring the operation to ADMITTED, the only state from which the effect may be asked for."""
    if operation.state in (State.NOT_ADMITTED, State.NEEDS_REAUTHORISATION):
        return attempt.admit(parties, operation)
    with atomic(parties.journal.db):
        if operation.state == State.EFFECT_PENDING:
            parties.move(operation, State.ADMITTED, Evidence.OWNER_SAYS_ABSENT)
        elif operation.state == State.UNKNOWN_OUTCOME:
            parties.move(operation, State.ADMITTED, Evidence.DISPOSITION, seen="the owner says absent")
    return True


def stop(parties: Parties, operation: Operation, to_state: State, why: str) -> str:
    """Leave the operation for a person: move where the table has the move, else hold and say so."""
    evidence = MOVES.get((State(operation.state), to_state))
    with atomic(parties.journal.db):
        if evidence is None:
            body = {"operation_id": operation.operation_id, "because": why}
            parties.journal.append(operation.workflow_id, "held", body, parties.now_ms)
        else:
            parties.move(operation, to_state, evidence, reason=why)
    return parties.journal.operation(operation.operation_id).state


def write_receipt(parties: Parties, operation: Operation, found: Found, workflow: Workflow) -> None:
    """Move 7: what was seen, under which authority it acted, and what stays uncertain."""
    decision, reading, authority = found.decision, found.reading, found.authority
    state = parties.journal.operation(operation.operation_id).state
    open_question = state == State.UNKNOWN_OUTCOME or decision.kind == "reconcile"
    receipt = RecoveryReceipt(
        workflow_id=workflow.workflow_id,
        version_claimed=workflow.version,
        epoch=workflow.epoch,
        operation_id=operation.operation_id,
        action_digest=operation.action_digest,
        actor=parties.actor,
        represented_subject=operation.action.subject,
        purpose=operation.action.kind,
        authority=authority.status,
        approval_id=authority.approval.approval_id if authority.approval else None,
        policy_version=authority.policy_version,
        expires_at_ms=authority.approval.expires_at_ms if authority.approval else None,
        readback_source=reading.source,
        readback_status=reading.status,
        readback_at_ms=reading.observed_at_ms,
        decision=decision.kind,
        because=decision.because,
        effect_receipt_digest=reading.receipt.digest if reading.receipt else None,
        postcondition_holds=True if state == State.OUTCOME_VERIFIED else None,
        remaining_uncertainty="whether the effect happened" if open_question else None,
        uncertainty_owner=operation.ledger if open_question else None,
        release_condition="a person's disposition or a new observation" if open_question else None,
    )
    with atomic(parties.journal.db):
        parties.journal.record_recovery(receipt, parties.now_ms)
    parties.reached(Boundary.RECEIPT_WRITTEN)
