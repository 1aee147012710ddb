"""What the three witnesses say of one operation, as plain JSON.  Reading changes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from labkit import canonical
from labkit.protocol import dispositions
from labkit.protocol.parties import Parties
from labkit.protocol.states import phase_of
from labkit.protocol.witnesses import ask_owner, resolve
from labkit.stores import chain
from labkit.stores.journal import Journal
from labkit.values import Operation


def summary(parties: Parties, operation: Operation) -> dict[str, Any]:
    """One operation: what the journal believes, what the owner says, what the approver says."""
    workflow = parties.journal.workflow(operation.workflow_id)
    reading, authority = ask_owner(parties, operation), resolve(parties, operation)
    phase = phase_of(operation.state, waits_for_approval=operation.approval_id is None)
    answer = dispositions.standing(parties.journal, operation)
    return {
        "workflow_id": workflow.workflow_id,
        "operation_id": operation.operation_id,
        "state": "pending_approval" if phase == "pending_approval" else operation.state,
        "phase": phase,
        "action": operation.action.as_json,
        "canonical": canonical.canonical_bytes(operation.action.as_json).decode(),
        "action_digest": operation.action_digest,
        "idempotent": operation.idempotent,
        "epoch": workflow.epoch,
        "retries": operation.retries,
        "max_retries": operation.max_retries,
        "checkpointed": operation.checkpointed,
        "effect": {
            "status": reading.status,
            "source": reading.source,
            "receipt": asdict(reading.receipt) if reading.receipt else None,
        },
        "authority": {
            "status": authority.status,
            "reason": authority.reason,
            "policy_version": authority.policy_version,
            "approval": asdict(authority.approval) if authority.approval else None,
            "admission": asdict(authority.admission) if authority.admission else None,
        },
        "disposition": asdict(answer) if answer else None,
    }


def timeline(journal: Journal, workflow_id: str) -> list[dict[str, Any]]:
    """The workflow's events in order, each with its content and its place in the chain.

    Raises:
        UnknownName: no such workflow.
    """
    journal.workflow(workflow_id)
    return [
        {
            "sequence": event["sequence"],
            "at_ms": event["at_ms"],
            "kind": event["kind"],
            "body": chain.body_of(event),
            "digest": event["digest"],
        }
        for event in journal.events(workflow_id)
    ]
