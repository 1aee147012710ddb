"""Verdicts from rows: the closed set, first that applies.

A judge reads a recorded observation.  It starts nothing, opens nothing, and believes no exit code
and no word that a process said of itself.
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.learning.authority_rows import missing_authority
from labkit.learning.cases import OVER, Case, case_of
from labkit.observations import PASSING, Observation, Verdict, VerdictName
from labkit.stores import chain
from labkit.stores.ledger import receipt_of_row
from labkit.values import AUTHORITY_REFUSALS


def judge(observation: Observation) -> tuple[Verdict, ...]:
    """One verdict for each intent, in the order of `observation.intents`."""
    return tuple(judge_case(case_of(observation, intent)) for intent in observation.intents)


def judge_case(case: Case) -> Verdict:
    """The first verdict of the closed set that applies."""
    for name, question in QUESTIONS:
        because = question(case)
        if because:
            return Verdict(name, name in PASSING, because)
    return Verdict("stuck", False, "the workflow is not over, and a resume without faults changed nothing")


def _corrupt(case: Case) -> str | None:
    for store, tables in case.rows.items():
        if [row["integrity_check"] for row in tables["integrity"]] != ["ok"]:
            return f"{store}: SQLite's integrity check fails"
    broken = chain.first_break(case.rows["journal"]["events"])
    if broken is not None:
        return f"journal: the event chain breaks at event {broken}"
    for row in case.effects:
        if not receipt_of_row(case.policy["name"], row).is_intact:
            return f"{case.ledger}: the receipt of effect {row['effect_id']} does not fit its digest"
    return None


def _over_budget(case: Case) -> str | None:
    effects = case.rows[case.ledger]["effects"]
    cap = case.policy["max_effects"]
    if cap is not None and len(effects) > cap:
        return f"{case.ledger}: {len(effects)} effects pass the cap of {cap}"
    for row in case.rows[case.ledger]["currency_caps"]:
        spent = sum(effect["amount_minor"] for effect in effects if effect["currency"] == row["currency"])
        if spent > row["cap_minor"]:
            return (
                f"{case.ledger}: {spent} minor units of {row['currency']} pass the cap of {row['cap_minor']}"
            )
    return None


def _unauthorised(case: Case) -> str | None:
    for effect in case.effects:
        missing = missing_authority(case, effect["committed_at_ms"], effect)
        if missing:
            return f"{case.ledger}: effect {effect['effect_id']} was committed with {missing}"
    return None


def _stale_epoch_accepted(case: Case) -> str | None:
    for effect in case.effects:
        if effect["epoch"] < effect["highest_epoch"]:
            return (
                f"{case.ledger}: effect {effect['effect_id']} came under epoch {effect['epoch']}"
                f" after {effect['highest_epoch']} was granted"
            )
    return None


def _duplicate(case: Case) -> str | None:
    if len(case.effects) > 1:
        keys = ", ".join(str(row["operation_id"]) for row in case.effects)
        return f"{case.ledger}: {len(case.effects)} effects for one intent, under {keys}"
    return None


def _phantom_progress(case: Case) -> str | None:
    if case.claimed and not case.effects:
        return f"journal: claims that {case.kind} of {case.subject} is done; {case.ledger} has no such effect"
    return None


def _refused(case: Case) -> str | None:
    """No effect, the refusal recorded, authority truly missing."""
    reason = recorded_refusal(case)
    if case.effects or reason is None:
        return None
    last_ms = 1000 * max(len(case.observation.runs), 1)
    missing = missing_authority(case, last_ms)
    full = reason.startswith("budget_") and _full(case)
    if (reason in AUTHORITY_REFUSALS or not reason.startswith("budget_")) and missing:
        return f"journal: records {reason}; {case.ledger}: no effect, and indeed {missing}"
    return f"journal: records {reason}; {case.ledger}: no effect, and no capacity is left" if full else None


def recorded_refusal(case: Case) -> str | None:
    """The reason of the operation's last recorded refusal, where it stands at one."""
    if case.state not in ("NEEDS_REAUTHORISATION", "ABANDONED") or case.operation is None:
        return None
    for event in reversed(case.rows["journal"]["events"]):
        body = chain.body_of(event)
        if event["kind"] == "moved" and body["operation_id"] == case.operation["operation_id"]:
            evidence = body["evidence"]
            return str(evidence.get("refused") or evidence.get("reason") or "") or None
    return None


def _full(case: Case) -> bool:
    assert case.operation is not None
    action = chain.json_of(case.operation["action"])
    effects = case.rows[case.ledger]["effects"]
    cap = case.policy["max_effects"]
    caps = {row["currency"]: row["cap_minor"] for row in case.rows[case.ledger]["currency_caps"]}
    spent = sum(effect["amount_minor"] for effect in effects if effect["currency"] == action["currency"])
    over_count = cap is not None and len(effects) >= cap
    return over_count or (bool(caps) and spent + action["amount_minor"] > caps.get(action["currency"], -1))


def _lost(case: Case) -> str | None:
    if case.over and not case.effects and not case.claimed:
        return (
            f"journal: the workflow is over ({case.state}); {case.ledger}: no effect, though it was permitted"
        )
    return None


def _orphan_effect(case: Case) -> str | None:
    """An effect that nobody recorded, though the workflow will not come back to it."""
    finished = case.state in (*OVER, "NEEDS_REAUTHORISATION") or case.operation is None
    if case.effects and finished and not case.claimed:
        return f"{case.ledger}: effect {case.effects[0]['effect_id']} stands; the journal never recorded it"
    return None


def _honest_unknown(case: Case) -> str | None:
    """UNKNOWN_OUTCOME, and the provider truly cannot tell: the operation has no key to ask by."""
    if case.state == "UNKNOWN_OUTCOME" and case.operation and not case.operation["idempotent"]:
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
    ("refused", _refused),
    ("lost", _lost),
    ("orphan_effect", _orphan_effect),
    ("honest_unknown", _honest_unknown),
    ("exactly_one", _exactly_one),
)
