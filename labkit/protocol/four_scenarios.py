"""Four readings of the protocol, in memory: no store, no process, no clock that runs.

Provider, approver and checkpoint are three small objects with three owners, so that what the
transition table and the decision table say can be followed by eye.  Times are bare numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.protocol.recovery import decide
from labkit.protocol.states import Evidence, State, phase_of, progress_of, require_move
from labkit.values import AuthorityStatus, EffectStatus

Result = dict[str, int | str]

STABLE_ID = "order-42:charge"  # chosen before the first call, and kept
EXPIRES_AT = 10


@dataclass
class Provider:
    """Owns the effects.  Under an id that it knows it answers with the effect that it has."""

    effects: list[str] = field(default_factory=list)

    def submit(self, operation_id: str) -> None:
        """Have the effect, once for each id."""
        if operation_id not in self.effects:
            self.effects.append(operation_id)

    def read(self, operation_id: str) -> EffectStatus:
        """What became of an id.  Changes nothing."""
        return "committed" if operation_id in self.effects else "absent"


@dataclass
class Approver:
    """Owns one approval, good for one operation until it expires."""

    used_by: str | None = None

    def admit(self, operation_id: str, now: int) -> bool:
        """Let an operation enter and consume the approval; one that has entered stays."""
        if self.status(operation_id, now) == "current":
            self.used_by = operation_id
        return self.used_by == operation_id

    def status(self, operation_id: str, now: int) -> AuthorityStatus:
        """What the approval permits this operation now."""
        if self.used_by is not None:
            return "admitted" if self.used_by == operation_id else "consumed_elsewhere"
        return "expired" if now > EXPIRES_AT else "current"


@dataclass
class Checkpoint:
    """What the workflow believes, and the version that a claim compares and swaps."""

    state: State = State.NOT_ADMITTED
    version: int = 0

    def move(self, to_state: State, why: Evidence) -> None:
        """One guarded move.  Raises: ForbiddenMove."""
        require_move(self.state, to_state, why)
        self.state = to_state

    def claim(self, expected_version: int) -> bool:
        """Take the workflow over, unless it has moved since it was read."""
        if self.version != expected_version:
            return False
        self.version += 1
        return True


def first_call(provider: Provider, approver: Approver, checkpoint: Checkpoint, operation_id: str) -> None:
    """Admission, dispatch, and an effect whose reply never arrives."""
    approver.admit(operation_id, now=0)
    checkpoint.move(State.ADMITTED, Evidence.CURRENT_APPROVAL)
    checkpoint.move(State.EFFECT_PENDING, Evidence.DISPATCHED)
    provider.submit(operation_id)


def recover(provider: Provider, approver: Approver, checkpoint: Checkpoint, now: int) -> str:
    """Recovery as it should be: read the effect, then ask for authority, then decide; returns the reason."""
    effect = provider.read(STABLE_ID)
    authority = approver.status(STABLE_ID, now)
    match decide(progress_of(checkpoint.state), effect, authority).kind:
        case "complete":
            checkpoint.move(State.EFFECT_COMMITTED, Evidence.OWNERS_RECEIPT)
            if len(provider.effects) == 1:
                checkpoint.move(State.OUTCOME_VERIFIED, Evidence.POSTCONDITION_READ)
            return "the effect was found under its id"
        case "reauthorise":
            checkpoint.move(State.NEEDS_REAUTHORISATION, Evidence.AUTHORITY_MISSING)
            return f"approval has {authority}"
        case other:
            return other


def checkpoint_only_replay() -> Result:
    """A replay that knows only its checkpoint: no receipt there, so it calls again, under another id."""
    provider, approver, checkpoint = Provider(), Approver(), Checkpoint()
    first_call(provider, approver, checkpoint, "attempt-1")
    provider.submit("attempt-2")  # the mistake: nobody read, and the id is new
    checkpoint.move(State.EFFECT_COMMITTED, Evidence.OWNERS_RECEIPT)
    checkpoint.state = State.OUTCOME_VERIFIED  # and it takes the receipt for the business fact
    return {"effects": len(provider.effects), "phase": phase_of(checkpoint.state)}


def readback_by_stable_id() -> Result:
    """The same lost reply, and by now the approval has expired; but the effect is read under its id first."""
    provider, approver, checkpoint = Provider(), Approver(), Checkpoint()
    first_call(provider, approver, checkpoint, STABLE_ID)
    recover(provider, approver, checkpoint, now=EXPIRES_AT + 1)
    approval = "consumed" if approver.used_by == STABLE_ID else "unused"
    return {"effects": len(provider.effects), "approval": approval, "phase": phase_of(checkpoint.state)}


def expired_before_admission() -> Result:
    """It died before it was admitted, and the approval expired: what never entered needs a fresh one."""
    provider, approver, checkpoint = Provider(), Approver(), Checkpoint()
    reason = recover(provider, approver, checkpoint, now=EXPIRES_AT + 1)
    return {"effects": len(provider.effects), "reason": reason, "phase": phase_of(checkpoint.state)}


def two_resumers() -> Result:
    """Both read the same version; the claim compares and swaps it."""
    checkpoint = Checkpoint()
    seen = checkpoint.version
    claims = [checkpoint.claim(seen), checkpoint.claim(seen)]
    return {"accepted": claims.count(True), "rejected": claims.count(False)}


def four_scenarios() -> dict[str, Result]:
    """The four results, as JSON.

    >>> four_scenarios()["two_resumers"]
    {'accepted': 1, 'rejected': 1}
    """
    return {
        "checkpoint_only_replay": checkpoint_only_replay(),
        "readback_by_stable_id": readback_by_stable_id(),
        "expired_before_admission": expired_before_admission(),
        "two_resumers": two_resumers(),
    }
