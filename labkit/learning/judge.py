"""Verdicts from rows: the closed set, first that applies.

A judge reads a recorded observation.  It starts nothing, opens nothing, and believes no exit code
and no word that a process said of itself.
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.learning.authority_rows import missing_authority
from labkit.learning.cases import OVER, Case, case_of
from labkit.learning.damage import first_damage
from labkit.learning.refusals import true_refusal
from labkit.observations import PASSING, Observation, Verdict, VerdictName
from labkit.stores import chain


def judge(observation: Observation) -> tuple[Verdict, ...]:
    """One verdict for each intent, in the order of `observation.intents`."""
    return tuple(judge_case(case_of(observation, intent)) for intent in observation.intents)


def judge_case(case: Case) -> Verdict:
    """The first verdict of the closed set that applies; one always does."""
    for name, question in QUESTIONS:
        because = question(case)
        if because:
            return Verdict(name, name in PASSING, because)
    raise AssertionError(f"no verdict for {case.kind} of {case.subject} in state {case.state}")


def _corrupt(case: Case) -> str | None:
    return first_damage(case.rows)


def _over_budget(case: Case) -> str | None:
    effects = case.rows[case.ledger]["effects"]
    most = case.policy["max_effects"]
    if most is not None and len(effects) > most:
        return f"{case.ledger}: {len(effects)} effects pass the cap of {most}"
    caps = {row["currency"]: row["cap_minor"] for row in case.rows[case.ledger]["currency_caps"]}
    for currency in sorted({effect["currency"] for effect in effects}) if caps else ():
        spent = sum(effect["amount_minor"] for effect in effects if effect["currency"] == currency)
        if currency not in caps:
            return f"{case.ledger}: {spent} minor units of {currency}, which has no cap among those set"
        if spent > caps[currency]:
            return f"{case.ledger}: {spent} minor units of {currency} pass the cap of {caps[currency]}"
    return None


def _unauthorised(case: Case) -> str | None:
    for effect in case.effects:
        missing = missing_authority(case, effect["committed_at_ms"], effect)
        if missing:
            return f"{case.ledger}: effect {effect['effect_id']} was committed with {missing}"
    return None


def _stale_epoch_accepted(case: Case) -> str | None:
    for effect in case.effects:
        granted = max(effect["highest_epoch"], _claimed_epoch(case, effect["committed_at_ms"]))
        if effect["epoch"] < granted:
            return (
                f"{case.ledger}: effect {effect['effect_id']} came under epoch {effect['epoch']}"
                f" after {granted} was granted"
            )
    return None


def _claimed_epoch(case: Case, at_ms: int) -> int:
    """The highest epoch that the journal had granted for this workflow before then, 0 before the first."""
    workflow_id = case.operation["workflow_id"] if case.operation else None
    return max(
        (
            chain.body_of(event)["epoch"]
            for event in case.rows["journal"]["events"]
            if event["kind"] == "claimed" and event["workflow_id"] == workflow_id and event["at_ms"] < at_ms
        ),
        default=0,
    )


def _duplicate(case: Case) -> str | None:
    if len(case.effects) > 1:
        keys = ", ".join(str(row["operation_id"]) for row in case.effects)
        return f"{case.ledger}: {len(case.effects)} effects for one intent, under {keys}"
    return None


def _phantom_progress(case: Case) -> str | None:
    if case.claimed and not case.effects:
        return f"journal: claims that {case.kind} of {case.subject} is done; {case.ledger} has no such effect"
    known = {effect["effect_id"] for effect in case.effects}
    for row in case.checkpoints:
        if row["effect_id"] is not None and row["effect_id"] not in known:
            return f"journal: a checkpoint names effect {row['effect_id']}; {case.ledger} has no such effect"
    return None


def _lost(case: Case) -> str | None:
    if not case.over or case.effects or true_refusal(case) is not None:
        return None
    if case.operation is None:
        known = ", ".join(sorted({row["step"] for row in case.others}))
        return (
            f"journal: all that it knows of {case.subject} is over ({known}); {case.ledger}: no {case.kind}"
        )
    return f"journal: the workflow is over ({case.state}); {case.ledger}: no effect, and no right refusal"


def _orphan_effect(case: Case) -> str | None:
    """An effect that nobody recorded, though the workflow will not come back to it."""
    finished = case.state in (*OVER, "NEEDS_REAUTHORISATION") or case.operation is None
    if case.effects and finished and not case.claimed:
        return f"{case.ledger}: effect {case.effects[0]['effect_id']} stands; the journal never recorded it"
    return None


def _stuck(case: Case) -> str | None:
    """Not over after the last resume, and not at one of the two honest stops either."""
    if case.over or true_refusal(case) or _honest_unknown(case):
        return None
    return f"journal: the workflow is not over ({case.state}), and a resume without faults left it so"


def _refused(case: Case) -> str | None:
    """No effect, the refusal recorded, authority truly missing."""
    return true_refusal(case)


def _honest_unknown(case: Case) -> str | None:
    """UNKNOWN_OUTCOME, and the provider truly cannot tell: the operation has no key to ask by."""
    unknown = case.state == "UNKNOWN_OUTCOME" and not case.checkpoints
    if unknown and case.operation and not case.operation["idempotent"]:
        return "journal: UNKNOWN_OUTCOME, and the provider keeps no key that could be asked for"
    return None


def _exactly_one(case: Case) -> str | None:
    if len(case.effects) == 1 and case.claimed:
        return f"{case.ledger}: one effect; journal: recorded"
    return None


QUESTIONS: tuple[tuple[VerdictName, Callable[[Case], str | None]], ...] = (
    ("corrupt", _corrupt),
    ("over_budget", _over_budget),
    ("unauthorised", _unauthorised),
    ("stale_epoch_accepted", _stale_epoch_accepted),
    ("duplicate", _duplicate),
    ("phantom_progress", _phantom_progress),
    ("lost", _lost),
    ("orphan_effect", _orphan_effect),
    ("stuck", _stuck),
    ("refused", _refused),
    ("honest_unknown", _honest_unknown),
    ("exactly_one", _exactly_one),
)
