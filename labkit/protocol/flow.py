"""A workflow step by step, as people drive it: create, approve, replace, run.

Each step is a few commits in the stores of their owners, in an order that a crash may cut anywhere:
what is left can be read, and the step can be taken again.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.errors import Conflict, ForbiddenMove
from labkit.protocol.attempt import CODE_PATH, first_run
from labkit.protocol.parties import Parties
from labkit.protocol.resume import resume
from labkit.protocol.states import State
from labkit.stores.journal import Journal
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action, Approval, Mandate, Operation

WAITS_FOR_A_PERSON = (State.NOT_ADMITTED, State.NEEDS_REAUTHORISATION)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person approves.

    `seen_digest` is the digest of the bytes that they looked at, None for whatever stands there now.
    `grants_mandate` says whether the provider's standing permission comes along.
    """

    expires_at_ms: int
    seen_digest: str | None = None
    grants_mandate: bool = True


def create(journal: Journal, operation: Operation, now_ms: int) -> None:
    """Record a workflow of one operation: its id, its canonical bytes and their digest.

    Raises:
        Conflict: a workflow or operation of that name exists already.
    """
    with atomic(journal.db):
        journal.begin(operation.workflow_id, CODE_PATH, now_ms)
        journal.intend(operation, now_ms)


def approve(parties: Parties, ledger: Ledger, operation: Operation, terms: Terms) -> None:
    """Bind an approval by `parties.actor` to the operation's bytes; an earlier unused one is withdrawn.

    An operation that was admitted keeps its admission: where the provider refused it, only the
    mandate is granted.

    Raises:
        Conflict: the bytes are not those that the person saw, or it was admitted already.
        ForbiddenMove: it does not wait for a person.
    """
    _require_waiting(operation, "nothing to approve")
    if terms.seen_digest not in (None, operation.action_digest):
        raise Conflict(
            f"the action of {operation.operation_id} is now {operation.action_digest}",
            "look at it with `lab workflow show` and approve what you see",
        )
    admission = parties.authority.admission(operation.operation_id)
    if admission is not None and not (terms.grants_mandate and operation.state != State.NOT_ADMITTED):
        raise Conflict(
            f"{operation.operation_id} was admitted under {admission.approval_id} already", "resume it"
        )
    approval = _approval(parties, operation, terms)
    if admission is None:
        with atomic(parties.authority.db):
            if operation.approval_id is not None:
                parties.authority.revoke(operation.approval_id, parties.now_ms)
            parties.authority.approve(approval)
    if terms.grants_mandate:
        action = operation.action
        with atomic(ledger.db):
            ledger.grant_mandate(
                Mandate(action.subject, action.amount_minor, action.currency), parties.now_ms
            )
    body = {"operation_id": operation.operation_id, "actor": parties.actor, "mandate": terms.grants_mandate}
    with atomic(parties.journal.db):
        if admission is None:
            parties.journal.bind_approval(operation.operation_id, approval.approval_id, parties.now_ms)
            body |= {"expires_at_ms": approval.expires_at_ms, "policy_version": approval.policy_version}
        parties.journal.append(operation.workflow_id, "approved", body, parties.now_ms)


def _approval(parties: Parties, operation: Operation, terms: Terms) -> Approval:
    subject = operation.action.subject
    return Approval(
        approval_id=f"{operation.operation_id}/approved-{parties.now_ms}",
        action_digest=operation.action_digest,
        subject=subject,
        subject_revision=parties.authority.subject_revision(subject),
        actor=parties.actor,
        policy_version=parties.authority.policy_version(),
        expires_at_ms=terms.expires_at_ms,
    )


def replace(parties: Parties, operation: Operation, action: Action) -> None:
    """Put another action in the operation's place; its approval is void, and it waits for one again.

    The same bytes again change nothing.  The claim stops a worker that still holds the old action.

    Raises:
        Conflict: it was admitted already: its bytes are fixed.
        ForbiddenMove: it does not wait for a person.
    """
    _require_waiting(operation, "its action can no longer be replaced")
    if action.digest == operation.action_digest:
        return
    if parties.authority.admission(operation.operation_id) is not None:
        raise Conflict(f"{operation.operation_id} was admitted already", "create another workflow")
    claimed = parties.claim(parties.journal.workflow(operation.workflow_id), operation.action.subject)
    with atomic(claimed.journal.db):
        claimed.require_claim(operation)
        claimed.journal.replace_action(operation.operation_id, action, claimed.now_ms)
    if operation.approval_id is not None:
        with atomic(claimed.authority.db):
            claimed.authority.revoke(operation.approval_id, claimed.now_ms)


def run(parties: Parties, operation: Operation) -> State:
    """The first run where nobody was asked for anything yet, the seven moves everywhere else.

    Raises:
        ForbiddenMove: it waits for its first approval.
        StaleClaim: another worker has it.
    """
    is_new = operation.state == State.NOT_ADMITTED
    if is_new and operation.approval_id is None:
        with parties.showing_refusals(operation.workflow_id):
            raise ForbiddenMove(
                f"{operation.workflow_id} is pending_approval",
                f"lab workflow approve {operation.workflow_id} --actor NAME",
            )
    if is_new and parties.authority.admission(operation.operation_id) is None:
        return first_run(parties, operation)
    return resume(parties, operation.workflow_id, operation.step)


def _require_waiting(operation: Operation, otherwise: str) -> None:
    if operation.state not in WAITS_FOR_A_PERSON:
        raise ForbiddenMove(
            f"{operation.operation_id} is {operation.state}", f"{otherwise}; see `lab workflow show`"
        )
