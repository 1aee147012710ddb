"""Whether a step that was refused had to be: what the journal records, against what the owners' rows say."""

from __future__ import annotations

from labkit.learning.authority_rows import missing_authority
from labkit.learning.cases import Case
from labkit.stores import capacity, chain
from labkit.values import Action, BudgetPolicy

STANDS_REFUSED = frozenset({"NEEDS_REAUTHORISATION", "ABANDONED"})


def true_refusal(case: Case) -> str | None:
    """The sentence for a recorded refusal that was right, None where there is none or it was wrong."""
    refusal = recorded_refusal(case)
    if case.effects or case.claimed or refusal is None:
        return None
    reason, at_ms = refusal
    if reason.startswith("budget_"):
        full = _full(case)
        return (
            f"journal: records {reason}; {case.ledger}: no effect, and no capacity is left" if full else None
        )
    missing = missing_authority(case, at_ms) and missing_authority(case, max(at_ms, case.ended_ms))
    return f"journal: records {reason}; {case.ledger}: no effect, and indeed {missing}" if missing else None


def recorded_refusal(case: Case) -> tuple[str, int] | None:
    """The reason and time of the operation's last move, where that left it refused."""
    if case.state not in STANDS_REFUSED or case.operation is None:
        return None
    for event in reversed(case.rows["journal"]["events"]):
        body = chain.body_of(event)
        if event["kind"] == "moved" and body["operation_id"] == case.operation["operation_id"]:
            evidence = body["evidence"]
            reason = str(evidence.get("refused") or evidence.get("reason") or "")
            return (reason, event["at_ms"]) if reason else None
    return None


def _full(case: Case) -> bool:
    assert case.operation is not None
    action = chain.json_of(case.operation["action"])
    tables = case.rows[case.ledger]
    caps = tuple((row["currency"], row["cap_minor"]) for row in tables["currency_caps"])
    spent: dict[str, int] = {}
    for effect in tables["effects"]:
        spent[effect["currency"]] = spent.get(effect["currency"], 0) + effect["amount_minor"]
    policy = BudgetPolicy(case.policy["max_effects"], caps)
    return capacity.refusal(policy, len(tables["effects"]), spent, Action.from_json(action)) is not None
