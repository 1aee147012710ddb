"""Move 7 of recovery: the receipt that says what was seen, what was done, and what stays uncertain."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.protocol.parties import Outcome, Parties
from labkit.protocol.states import State
from labkit.protocol.witnesses import Found
from labkit.values import Operation, RecoveryReceipt, Workflow


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What nobody here knows, who could, and what would settle it.  All None where nothing is open."""

    remaining: str | None = None
    owner: str | None = None
    release_condition: str | None = None


def receipt_of(
    parties: Parties, workflow: Workflow, operation: Operation, found: Found, outcome: Outcome
) -> RecoveryReceipt:
    """The receipt of one recovery.  An effect that this very recovery brought about counts as its own."""
    reading, approval = found.reading, found.authority.approval
    effect = outcome.receipt or reading.receipt
    open_question = uncertainty(operation, found, outcome)
    return RecoveryReceipt(
        workflow_id=workflow.workflow_id,
        version_claimed=workflow.version,
        epoch=parties.epoch,
        operation_id=operation.operation_id,
        action_digest=operation.action_digest,
        actor=parties.actor,
        represented_subject=operation.action.subject,
        purpose=operation.action.kind,
        authority=found.authority.status,
        approval_id=approval.approval_id if approval else None,
        policy_version=found.authority.policy_version,
        expires_at_ms=approval.expires_at_ms if approval else None,
        readback_source=reading.source,
        readback_status=reading.status,
        readback_at_ms=reading.observed_at_ms,
        decision=found.decision.kind,
        because=found.decision.because,
        effect_receipt_digest=effect.digest if effect else None,
        postcondition_holds=outcome.postcondition.holds if outcome.postcondition else None,
        remaining_uncertainty=open_question.remaining,
        uncertainty_owner=open_question.owner,
        release_condition=open_question.release_condition,
    )


def uncertainty(operation: Operation, found: Found, outcome: Outcome) -> Uncertainty:
    """What this recovery leaves open."""
    if outcome.postcondition is not None and not outcome.postcondition.holds:
        return Uncertainty(
            f"the business fact: {outcome.postcondition.statement}",
            operation.ledger,
            "a later reading in which it holds, or a compensation",
        )
    in_doubt = outcome.state in (State.UNKNOWN_OUTCOME, State.EFFECT_PENDING)
    if in_doubt or found.decision.kind == "reconcile":
        return Uncertainty(
            "whether the effect happened", operation.ledger, "a person's disposition or a new observation"
        )
    if found.decision.kind == "complete" and outcome.state != State.OUTCOME_VERIFIED:
        return Uncertainty(
            "under whose authority the effect came", "authority", "a person's decision on the effect"
        )
    return Uncertainty()
