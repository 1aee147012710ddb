"""What to do with an operation after a crash: one pure, total function over three witnesses.

The journal says how far it believes it came, the effect's owner says what happened, the approver
says what is permitted.  The order of the rows is the lesson: the effect is read first, and authority
is asked about only where there is no effect yet.
"""

from __future__ import annotations

from labkit.values import AuthorityStatus, Decision, EffectStatus, Progress

PROGRESS: tuple[Progress, ...] = ("none", "intent", "admitted", "effect_recorded", "complete")
EFFECT: tuple[EffectStatus, ...] = (
    "absent", "pending", "committed", "failed_retryable", "failed_exhausted", "unknown",
)  # fmt: skip
AUTHORITY: tuple[AuthorityStatus, ...] = ("current", "admitted", "expired", "revoked", "consumed_elsewhere")

_CLAIMS_AN_EFFECT = {"effect_recorded", "complete"}
_SAYS_NO_EFFECT = {"absent", "failed_retryable", "failed_exhausted"}


def decide(progress: Progress, effect: EffectStatus, authority: AuthorityStatus) -> Decision:
    """The recovery decision for each of the 5 x 6 x 5 combinations.

    >>> decide("intent", "committed", "revoked").kind, decide("admitted", "absent", "expired").kind
    ('complete', 'reauthorise')
    """
    if progress in _CLAIMS_AN_EFFECT and effect in _SAYS_NO_EFFECT:
        return Decision("reconcile", "phantom_progress: the journal claims what the ledger denies")

    match effect:
        case "committed":
            return Decision(
                "complete", "the effect is there: verify the postcondition, call nothing that changes it"
            )
        case "pending" | "unknown":
            return Decision("reconcile", "nobody can tell yet whether the effect happened")
        case "failed_exhausted":
            return Decision("abandon", "the owner says it failed, and no attempt is left")

    match authority:
        case "current" | "admitted":
            return Decision("execute", "no effect, and this very operation may have one")
        case "expired" | "revoked":
            return Decision("reauthorise", "no effect, and the permission for one is gone")
        case "consumed_elsewhere":
            return Decision("abandon", "its approval was used by another operation")
