"""Verdicts from rows: the closed set, first that applies.

A judge reads a recorded observation.  It starts nothing, opens nothing, and believes no exit code
and no word that a process said of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labkit.observations import PASSING, Observation, Row, Snapshot, Verdict, VerdictName
from labkit.stores import chain
from labkit.stores.ledger import receipt_of_row
from labkit.values import AUTHORITY_REFUSALS

OVER = frozenset({"OUTCOME_VERIFIED", "ABANDONED"})
CLAIMS = frozenset({"EFFECT_COMMITTED", "OUTCOME_VERIFIED"})


@dataclass(frozen=True, slots=True)
class Case:
    """One intent of one observation, with the rows that bear on it."""

    observation: Observation
    ledger: str
    effects: tuple[Row, ...]
    operation: Row | None
    checkpoints: tuple[Row, ...]
    kind: str
    subject: str

    @property
    def rows(self) -> Snapshot:
        """The final rows of every store."""
        return self.observation.final

    @property
    def policy(self) -> Row:
        """The ledger's policy row."""
        return self.rows[self.ledger]["policy"][0]

    @property
    def state(self) -> str | None:
        """The state that the journal gives the operation, None without a recorded intent."""
        return self.operation["state"] if self.operation else None

    @property
    def claimed(self) -> bool:
        """Whether the journal claims that the effect happened."""
        return bool(self.checkpoints) or self.state in CLAIMS

    @property
    def over(self) -> bool:
        """Whether the workflow says that this step is over."""
        return bool(self.checkpoints) or self.state in OVER


def judge(observation: Observation) -> tuple[Verdict, ...]:
    """One verdict for each intent, in the order of `observation.intents`."""
    return tuple(judge_case(case_of(observation, intent)) for intent in observation.intents)


def case_of(observation: Observation, intent: tuple[str, str, str]) -> Case:
    """The rows that bear on one (ledger, kind, subject)."""
    ledger, kind, subject = intent
    final = observation.final
    effects = tuple(
        row for row in final[ledger]["effects"] if row["kind"] == kind and row["subject"] == subject
    )
    operations = [
        row for row in final["journal"]["operations"]
        if row["ledger"] == ledger and chain.json_of(row["action"])["kind"] == kind
        and chain.json_of(row["action"])["subject"] == subject
    ]  # fmt: skip
    operation = operations[0] if operations else None
    steps = {row["step"] for row in operations}
    checkpoints = tuple(row for row in final["journal"]["checkpoints"] if row["step"] in steps)
    return Case(observation, ledger, effects, operation, checkpoints, kind, subject)


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


def missing_authority(case: Case, at_ms: int, effect: Row | None = None) -> str | None:
    """What authority was missing at a time, for this effect or for the operation as recorded."""
    wanted = effect or case.operation
    if case.policy["mandate_required"]:
        mandates = [row for row in case.rows[case.ledger]["mandates"] if row["subject"] == case.subject]
        standing = [
            row for row in mandates
            if row["granted_at_ms"] <= at_ms and (row["revoked_at_ms"] is None or row["revoked_at_ms"] > at_ms)
        ]  # fmt: skip
        if not standing:
            return "no mandate in force"
        if effect and not any(
            (row["amount_minor"], row["currency"]) == (effect["amount_minor"], effect["currency"])
            for row in standing
        ):
            return "a mandate for another amount or currency"
    if "authority" in case.rows and wanted is not None:
        return _missing_approval(case, wanted, at_ms)
    return None


def _missing_approval(case: Case, wanted: Row, at_ms: int) -> str | None:
    authority = case.rows["authority"]
    for admission in authority["admissions"]:
        if admission["operation_id"] == wanted["operation_id"] and admission["admitted_at_ms"] <= at_ms:
            same = admission["action_digest"] == wanted["action_digest"]
            return None if same else "an admission of other bytes"
    used = {row["approval_id"] for row in authority["admissions"]}
    version = max(row["version"] for row in authority["policy_versions"] if row["at_ms"] <= at_ms)
    revisions = {row["subject"]: row["revision"] for row in authority["subject_revisions"]}
    for approval in authority["approvals"]:
        revoked = approval["revoked_at_ms"] is not None and approval["revoked_at_ms"] <= at_ms
        if (
            approval["action_digest"] == wanted["action_digest"]
            and approval["expires_at_ms"] >= at_ms
            and approval["policy_version"] == version
            and approval["subject_revision"] == revisions.get(approval["subject"], 0)
            and approval["approval_id"] not in used
            and not revoked
        ):
            return None
    return "no admission and no approval of these bytes in force"


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
