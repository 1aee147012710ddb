"""The closed set of an operation's states, and the only moves between them.

Each move names the evidence that it needs.  A move that is not in the table fails closed: it raises,
and the state stays as it was.  In particular a timer is no evidence: UNKNOWN_OUTCOME never becomes
EFFECT_PENDING because time has passed.
"""

from __future__ import annotations

from enum import StrEnum

from labkit.errors import ForbiddenMove
from labkit.values import Progress


class State(StrEnum):
    """Where one operation stands."""

    NOT_ADMITTED = "NOT_ADMITTED"
    ADMITTED = "ADMITTED"
    EFFECT_PENDING = "EFFECT_PENDING"
    EFFECT_COMMITTED = "EFFECT_COMMITTED"
    OUTCOME_VERIFIED = "OUTCOME_VERIFIED"
    UNKNOWN_OUTCOME = "UNKNOWN_OUTCOME"
    NEEDS_REAUTHORISATION = "NEEDS_REAUTHORISATION"
    ABANDONED = "ABANDONED"


class Evidence(StrEnum):
    """What can justify a move."""

    CURRENT_APPROVAL = "current policy, identity and an unused approval of this digest"
    AUTHORITY_MISSING = "approval expired, revoked, of an older policy, or used by another operation"
    DISPATCHED = "request dispatched under the admission"
    OWNERS_RECEIPT = "receipt or readback owned by the target"
    NO_ANSWER = "ambiguous response and no readback"
    OWNER_SAYS_ABSENT = "the owner says absent or failed (retryable)"
    OWNER_REFUSES = "the owner refuses on authority"
    POSTCONDITION_READ = "postcondition read back independently"
    DISPOSITION = "a person's disposition or a new observation"
    FRESH_APPROVAL = "a fresh approval"
    EXPLICIT_DECISION = "an explicit decision"


FINAL = frozenset({State.OUTCOME_VERIFIED, State.ABANDONED})

_MOVES: dict[tuple[State, State], Evidence] = {
    (State.NOT_ADMITTED, State.ADMITTED): Evidence.CURRENT_APPROVAL,
    (State.NOT_ADMITTED, State.NEEDS_REAUTHORISATION): Evidence.AUTHORITY_MISSING,
    (State.ADMITTED, State.EFFECT_PENDING): Evidence.DISPATCHED,
    (State.EFFECT_PENDING, State.EFFECT_COMMITTED): Evidence.OWNERS_RECEIPT,
    (State.EFFECT_PENDING, State.UNKNOWN_OUTCOME): Evidence.NO_ANSWER,
    (State.EFFECT_PENDING, State.ADMITTED): Evidence.OWNER_SAYS_ABSENT,
    (State.EFFECT_PENDING, State.NEEDS_REAUTHORISATION): Evidence.OWNER_REFUSES,
    (State.EFFECT_COMMITTED, State.OUTCOME_VERIFIED): Evidence.POSTCONDITION_READ,
    (State.UNKNOWN_OUTCOME, State.EFFECT_COMMITTED): Evidence.DISPOSITION,
    (State.UNKNOWN_OUTCOME, State.ADMITTED): Evidence.DISPOSITION,
    (State.UNKNOWN_OUTCOME, State.ABANDONED): Evidence.DISPOSITION,
    (State.NEEDS_REAUTHORISATION, State.ADMITTED): Evidence.FRESH_APPROVAL,
}
MOVES: dict[tuple[State, State], Evidence] = {
    **{(state, State.ABANDONED): Evidence.EXPLICIT_DECISION for state in State if state not in FINAL},
    **_MOVES,
}


def require_move(from_state: str, to_state: str, evidence: Evidence) -> None:
    """Let a move pass if the table has it under this evidence.

    Raises:
        ForbiddenMove: no such move, or it needs other evidence.
    """
    needed = MOVES.get((State(from_state), State(to_state)))
    if needed is None:
        raise ForbiddenMove(f"{from_state} -> {to_state} is not a move", "read the effect and decide again")
    if needed is not evidence:
        raise ForbiddenMove(f"{from_state} -> {to_state} on `{evidence.value}`", f"it needs: {needed.value}")


def progress_of(state: str) -> Progress:
    """The decision table's word for how far the journal says an operation came.

    >>> progress_of("EFFECT_PENDING"), progress_of("OUTCOME_VERIFIED")
    ('admitted', 'complete')
    """
    return _PROGRESS.get(State(state), "admitted")


def phase_of(state: str, waits_for_approval: bool = False) -> str:
    """The name that people are shown: two states have one of their own.

    >>> phase_of("OUTCOME_VERIFIED"), phase_of("NOT_ADMITTED", waits_for_approval=True), phase_of("ADMITTED")
    ('COMPLETE', 'pending_approval', 'ADMITTED')
    """
    if state == State.OUTCOME_VERIFIED:
        return "COMPLETE"
    return "pending_approval" if state == State.NOT_ADMITTED and waits_for_approval else str(State(state))


_PROGRESS: dict[State, Progress] = {
    State.NOT_ADMITTED: "intent",
    State.NEEDS_REAUTHORISATION: "intent",
    State.EFFECT_COMMITTED: "effect_recorded",
    State.OUTCOME_VERIFIED: "complete",
}
