"""Each verdict of the closed set from hand-made rows, the order in which they are asked, and that one always applies."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, get_args

import pytest

from labkit import canonical
from labkit.learning.judge import QUESTIONS, judge
from labkit.observations import PASSING, Observation, ProcessRun, Row, Snapshot, Verdict, VerdictName
from labkit.stores import chain
from labkit.stores.ledger import receipt_of_row
from labkit.values import Action, receipt_digest

CHARGE = Action("charge", "order-1001", 4000, "USD")
KEY = "order-1001:charge"
INTENT = ("payments", "charge", "order-1001")
STATES = ("NOT_ADMITTED", "ADMITTED", "EFFECT_PENDING", "EFFECT_COMMITTED", "OUTCOME_VERIFIED", "UNKNOWN_OUTCOME",
          "NEEDS_REAUTHORISATION", "ABANDONED")  # fmt: skip


def effect(
    number: int = 1, key: str | None = KEY, action: Action = CHARGE, epoch: int = 0, at_ms: int = 1000
) -> Row:
    """A row of the ledger's effects, sealed as the ledger seals it."""
    row = {
        "effect_id": number, "operation_id": key, "action_digest": action.digest, "kind": action.kind,
        "subject": action.subject, "amount_minor": action.amount_minor, "currency": action.currency, "details": "{}",
        "epoch": epoch, "highest_epoch": epoch, "committed_at_ms": at_ms, "receipt_digest": "",
    }  # fmt: skip
    return {**row, "receipt_digest": receipt_digest(asdict(receipt_of_row("payments", row)))}


def operation(state: str = "EFFECT_COMMITTED", key: str = KEY, action: Action = CHARGE, **more: Any) -> Row:
    """A row of the journal's operations."""
    row = {"operation_id": key, "workflow_id": action.subject, "step": action.kind, "ledger": "payments", "state": state,
           "action": canonical.canonical_bytes(action.as_json).decode(), "action_digest": action.digest, "idempotent": 1}  # fmt: skip
    return {**row, **more}


def checkpoint(effect_id: int | None = 1, workflow_id: str = "order-1001", step: str = "charge") -> Row:
    """A row of the journal's checkpoints."""
    return {"workflow_id": workflow_id, "step": step, "operation_id": KEY, "effect_id": effect_id}


def events(*described: tuple[str, dict[str, Any], int]) -> list[Row]:
    """A whole chain of events: (kind, body, time)."""
    rows: list[Row] = []
    for number, (kind, body, at_ms) in enumerate(described, 1):
        event = {"sequence": number, "workflow_id": "order-1001", "kind": kind, "body": canonical.canonical_bytes(body).decode(),
                 "at_ms": at_ms, "previous_digest": rows[-1]["digest"] if rows else chain.FIRST}  # fmt: skip
        rows.append({**event, "digest": canonical.digest(event)})
    return rows


def refusal(reason: str, state: str = "NEEDS_REAUTHORISATION", at_ms: int = 2000) -> list[Row]:
    """The chain of one recorded refusal."""
    body = {"operation_id": KEY, "from": "EFFECT_PENDING", "to": state, "evidence": {"reason": reason}}
    return events(("moved", body, at_ms))


def mandate(
    revoked_at_ms: int | None = None,
    amount_minor: int = 4000,
    granted_at_ms: int = 0,
    subject: str = "order-1001",
) -> Row:
    """A row of the ledger's mandates."""
    return {"mandate_id": 1, "subject": subject, "amount_minor": amount_minor, "currency": "USD",
            "granted_at_ms": granted_at_ms, "revoked_at_ms": revoked_at_ms}  # fmt: skip


def rows(**tables: Any) -> Snapshot:
    """A world whose only charge is paid and recorded; `tables` replaces some: `effects=[...]`, `events=[...]`, ..."""
    journal = {
        "operations": [operation()],
        "checkpoints": [checkpoint()],
        "events": [],
        "recovery_receipts": [],
    }
    payments = {"policy": [{"name": "payments", "mandate_required": 1, "max_effects": None}], "currency_caps": [],
                "mandates": [mandate()], "effects": [effect()]}  # fmt: skip
    ok = [{"integrity_check": "ok"}]
    world: Snapshot = {"journal": {**journal, "integrity": ok}, "payments": {**payments, "integrity": ok}}
    for name, value in tables.items():
        if name == "authority":
            world["authority"] = {**value, "integrity": ok}
        else:
            world["journal" if name in journal else "payments"][name] = value
    return world


def capped(effects: int | None = None, required: int = 1) -> list[Row]:
    """The ledger's policy row."""
    return [{"name": "payments", "mandate_required": required, "max_effects": effects}]


def approvals(*admissions: Row, at: int = 1, **change: Any) -> dict[str, list[Row]]:
    """An approver's tables: one approval of the charge, perhaps changed, and some admissions."""
    approval = {"approval_id": "approval-1", "action_digest": CHARGE.digest, "subject": "order-1001", "subject_revision": 0,
                "actor": "ann", "policy_version": 1, "expires_at_ms": 5000, "revoked_at_ms": None}  # fmt: skip
    versions = [{"version": number, "at_ms": (number - 1) * 900} for number in range(1, at + 1)]
    return {
        "approvals": [{**approval, **change}],
        "admissions": list(admissions),
        "policy_versions": versions,
        "subject_revisions": [],
    }


def admission(key: str = KEY, digest: str = CHARGE.digest, at_ms: int = 900) -> Row:
    """A row of the approver's admissions."""
    return {
        "operation_id": key,
        "action_digest": digest,
        "approval_id": "approval-1",
        "policy_version": 1,
        "admitted_at_ms": at_ms,
    }


def verdict(world: Snapshot, runs: int = 2, intent: tuple[str, str, str] = INTENT) -> Verdict:
    """The judge's word on one intent."""
    run = ProcessRun("any", "", 0, 0, None, None, "", "", 0.0)
    [found] = judge(Observation("hand-made", "none", (intent,), (run,) * runs, None, world))
    return found


def name_of(world: Snapshot, runs: int = 2) -> str:
    """The verdict's name."""
    return verdict(world, runs).name


# --- corrupt --------------------------------------------------------------------------------


def tampered(**change: Any) -> Row:
    """A sealed effect of which a field was changed afterwards."""
    return {**effect(), **change}


CORRUPT = {
    "the file": rows()
    | {"payments": {**rows()["payments"], "integrity": [{"integrity_check": "row 1 missing from index"}]}},
    "another store's file": {
        **rows(),
        "other": {"integrity": [{"integrity_check": "other.sqlite3 is empty"}]},
    },
    "an event": rows(events=[{**event, "body": "{}"} for event in refusal("mandate_revoked")]),
    "a lost tail": {**rows(), "journal": {**rows()["journal"], "sequences": [{"name": "events", "seq": 3}]}},
    "an amount": rows(effects=[tampered(amount_minor=1)]),
    "an amount that JSON cannot carry": rows(effects=[tampered(amount_minor=2**60)]),
    "a key": rows(effects=[tampered(operation_id="another")]),
    "a time": rows(effects=[tampered(committed_at_ms=5)]),
    "an epoch": rows(effects=[tampered(epoch=9, highest_epoch=9)]),
    "a digest": rows(effects=[tampered(receipt_digest="0" * 64)]),
    "details that were never approved": rows(effects=[tampered(details='{"memo":"forged"}')]),
    "details that are no JSON": rows(effects=[tampered(details="{")]),
    "an effect of another order": rows(effects=[effect(), tampered(effect_id=2, subject="order-9")]),
    "the subject, so that it looks like another's": rows(effects=[tampered(subject="order-9")]),
    "the policy": rows(policy=[]),
    "a recovery receipt": rows(recovery_receipts=[{"recovery_id": 1, "receipt": "{}", "digest": "0" * 64}]),
}


@pytest.mark.parametrize("world", CORRUPT.values(), ids=CORRUPT)
def test_changed_rows_are_corrupt(world: Snapshot) -> None:
    """Integrity, chain, receipts of effects and of recoveries: in any store, also where it is another order's."""

    found = verdict(world)

    assert (found.name, found.passed) == ("corrupt", False)


def test_untouched_rows_are_not() -> None:
    """The base of all these rows is sound, paid and recorded."""

    receipt = {"receipt": "{}", "recovery_id": 1, "digest": canonical.digest({})}

    assert Verdict("exactly_one", True, "payments: one effect; journal: recorded") == verdict(rows())
    assert name_of(rows(recovery_receipts=[receipt])) == "exactly_one"


# --- over_budget ----------------------------------------------------------------------------

OTHER = effect(2, "order-1002:charge", replace(CHARGE, subject="order-1002"))
EUROS = effect(2, "order-1002:charge", replace(CHARGE, subject="order-1002", currency="EUR"))
USD_CAP = [{"currency": "USD", "cap_minor": 7999}]
OVER_BUDGET = {
    "too many": (rows(policy=capped(1), effects=[effect(), OTHER]), "2 effects pass the cap of 1"),
    "any at all under zero": (rows(policy=capped(0)), "1 effects pass the cap of 0"),
    "too much": (rows(currency_caps=USD_CAP, effects=[effect(), OTHER]), "8000 minor units of USD pass the cap of 7999"),
    "an uncapped currency among caps": (rows(currency_caps=USD_CAP, effects=[effect(), EUROS]), "EUR, which has no cap"),
}  # fmt: skip


@pytest.mark.parametrize(("world", "says"), OVER_BUDGET.values(), ids=OVER_BUDGET)
def test_effects_past_the_policy_are_over_budget(world: Snapshot, says: str) -> None:
    """By count, by money, or in a currency that was never allowed; the sentence names the sum."""

    found = verdict(world)

    assert (found.name, says in found.because) == ("over_budget", True)


def test_a_budget_that_is_used_up_exactly_is_kept() -> None:
    """The cap itself is allowed."""

    exactly = rows(
        policy=capped(2), effects=[effect(), OTHER], currency_caps=[{"currency": "USD", "cap_minor": 8000}]
    )

    assert name_of(exactly) == "exactly_one"


# --- unauthorised ---------------------------------------------------------------------------

UNAUTHORISED = {
    "no mandate": (rows(mandates=[]), "no mandate in force"),
    "another order's": (rows(mandates=[mandate(subject="order-9")]), "no mandate in force"),
    "revoked before": (rows(mandates=[mandate(revoked_at_ms=999)]), "no mandate in force"),
    "revoked at that moment": (rows(mandates=[mandate(revoked_at_ms=1000)]), "no mandate in force"),
    "granted after": (rows(mandates=[mandate(granted_at_ms=1001)]), "no mandate in force"),
    "for another amount": (rows(mandates=[mandate(amount_minor=1)]), "a mandate for another amount or currency"),
    "no approval": (rows(authority={**approvals(), "approvals": []}), "no admission and no approval"),
    "an approval of other bytes": (rows(authority=approvals(action_digest="0" * 64)), "no admission and no approval"),
    "an approval that had expired": (rows(authority=approvals(expires_at_ms=999)), "no admission and no approval"),
    "an approval withdrawn before": (rows(authority=approvals(revoked_at_ms=999)), "no admission and no approval"),
    "an approval of an older policy": (rows(authority=approvals(at=2)), "no admission and no approval"),
    "an approval of a subject that changed": (rows(authority={**approvals(), "subject_revisions": [
        {"subject": "order-1001", "revision": 1, "at_ms": 999}]}), "no admission and no approval"),
    "an approval that another operation used": (rows(authority=approvals(admission("another"))), "no admission and no approval"),
    "an admission of other bytes": (rows(authority=approvals(admission(digest="0" * 64))), "an admission of other bytes"),
    "an admission that came later": (rows(authority=approvals(admission(at_ms=1001))), "no admission and no approval"),
}  # fmt: skip


@pytest.mark.parametrize(("world", "says"), UNAUTHORISED.values(), ids=UNAUTHORISED)
def test_an_effect_without_authority_at_its_time_is_unauthorised(world: Snapshot, says: str) -> None:
    """Mandate and approval are read as they stood when it was committed."""

    found = verdict(world)

    assert (found.name, found.passed, says in found.because) == ("unauthorised", False, True)


AUTHORISED = {
    "revoked after": rows(mandates=[mandate(revoked_at_ms=1001)]),
    "no mandate needed": rows(policy=capped(required=0), mandates=[]),
    "an approval in force": rows(authority=approvals()),
    "an approval at its last millisecond": rows(authority=approvals(expires_at_ms=1000)),
    "an approval withdrawn after": rows(authority=approvals(revoked_at_ms=1001)),
    "a policy that moved after": rows(authority={**approvals(), "policy_versions": [
        {"version": 1, "at_ms": 0}, {"version": 2, "at_ms": 1001}]}),
    "a subject that changed after": rows(authority={**approvals(), "subject_revisions": [
        {"subject": "order-1001", "revision": 1, "at_ms": 1001}]}),
    "admitted before it expired": rows(authority=approvals(admission(), expires_at_ms=950)),
    "admitted before it was withdrawn": rows(authority=approvals(admission(), revoked_at_ms=950)),
    "a call without a key, admitted by its operation": rows(effects=[effect(key=None)], authority=approvals(admission())),
}  # fmt: skip


@pytest.mark.parametrize("world", AUTHORISED.values(), ids=AUTHORISED)
def test_what_was_permitted_at_its_time_stays_permitted(world: Snapshot) -> None:
    """Expiry and revocation never reach back."""

    assert name_of(world) == "exactly_one"


# --- epochs, duplicates, claims -------------------------------------------------------------


def claimed(epoch: int, at_ms: int) -> tuple[str, dict[str, Any], int]:
    """The event of one claim."""
    return "claimed", {"owner": "worker", "epoch": epoch}, at_ms


STALE = {
    "the provider had heard of a newer one": rows(effects=[{**effect(epoch=1), "highest_epoch": 2}]),
    "the journal had granted a newer one": rows(
        effects=[effect(epoch=1)], events=events(claimed(1, 500), claimed(2, 900))
    ),
    "it carried none": rows(effects=[effect(epoch=0)], events=events(claimed(1, 500))),
}


@pytest.mark.parametrize("world", STALE.values(), ids=STALE)
def test_an_effect_under_an_older_epoch_is_stale(world: Snapshot) -> None:
    """Granted before it, by the provider's memory or by the journal's events."""

    assert name_of(world) == "stale_epoch_accepted"


LATER = {
    "none": (),
    "its own": (claimed(1, 500),),
    "later": (claimed(1, 500), claimed(2, 2000)),
    "in the same millisecond": (claimed(1, 500), claimed(2, 1000)),
}


@pytest.mark.parametrize("described", LATER.values(), ids=LATER)
def test_an_epoch_that_was_granted_later_makes_nothing_stale(described: Any) -> None:
    """A resume claims after the effect; two stores' records of one millisecond have no order."""

    assert name_of(rows(effects=[effect(epoch=1)], events=events(*described))) == "exactly_one"


@pytest.mark.parametrize("key", [KEY + ":2", KEY, None])
def test_two_effects_of_one_intent_are_a_duplicate(key: str | None) -> None:
    """Under whatever keys; the sentence names them."""

    found = verdict(rows(effects=[effect(), effect(2, key)]))

    assert ("duplicate", f"payments: 2 effects for one intent, under {KEY}, {key}") == (
        found.name,
        found.because,
    )


PHANTOM = {
    "a checkpoint": rows(
        effects=[], operations=[operation("EFFECT_PENDING")], checkpoints=[checkpoint(None)]
    ),
    "a state that claims it": rows(effects=[], checkpoints=[], operations=[operation("EFFECT_COMMITTED")]),
    "a final state": rows(effects=[], checkpoints=[], operations=[operation("OUTCOME_VERIFIED")]),
    "a checkpoint of an effect that is not there": rows(checkpoints=[checkpoint(7)]),
}


@pytest.mark.parametrize("world", PHANTOM.values(), ids=PHANTOM)
def test_a_claim_that_the_ledger_denies_is_phantom_progress(world: Snapshot) -> None:
    """The journal believes what is not so."""

    assert name_of(world) == "phantom_progress"


# --- over, or not ---------------------------------------------------------------------------


def unpaid(state: str, **more: Any) -> Snapshot:
    """No effect and no checkpoint."""
    return rows(**{"effects": [], "checkpoints": [], "operations": [operation(state)], **more})


LOST = {
    "given up": unpaid("ABANDONED"),
    "given up for a reason that was none": unpaid(
        "ABANDONED", events=refusal("mandate_revoked", "ABANDONED")
    ),
    "given up with room left": unpaid(
        "ABANDONED", events=refusal("budget_action_limit", "ABANDONED"), policy=capped(1)
    ),
    "given up without saying why": unpaid("ABANDONED", mandates=[]),
}


@pytest.mark.parametrize("world", LOST.values(), ids=LOST)
def test_a_workflow_that_is_over_without_effect_and_without_right_refusal_is_lost(world: Snapshot) -> None:
    """It was permitted, or nobody wrote down that it was not."""

    assert name_of(world) == "lost"


ORPHANS = {
    "refused though it had happened": rows(checkpoints=[], operations=[operation("NEEDS_REAUTHORISATION")],
                                           events=refusal("mandate_revoked"), mandates=[mandate(1500)]),
    "given up though it had happened": rows(checkpoints=[], operations=[operation("ABANDONED")]),
    "no intent was ever recorded": rows(checkpoints=[], operations=[]),
}  # fmt: skip


@pytest.mark.parametrize("world", ORPHANS.values(), ids=ORPHANS)
def test_an_effect_that_nobody_will_come_back_for_is_an_orphan(world: Snapshot) -> None:
    """It stands in the ledger and the journal never says so."""

    assert name_of(world) == "orphan_effect"


STUCK = {
    **{f"still {state}": unpaid(state) for state in ("NOT_ADMITTED", "ADMITTED", "EFFECT_PENDING")},
    "paid and never recorded": rows(checkpoints=[], operations=[operation("EFFECT_PENDING")]),
    "recorded and never finished": rows(checkpoints=[], operations=[operation("EFFECT_COMMITTED")]),
    "waiting for a permission that it has": unpaid("NEEDS_REAUTHORISATION", events=refusal("mandate_revoked")),
    "waiting for one that came back": unpaid("NEEDS_REAUTHORISATION", events=refusal("mandate_revoked"), mandates=[
        mandate(1500), mandate(granted_at_ms=2500)]),
    "waiting without saying for what": unpaid("NEEDS_REAUTHORISATION", mandates=[]),
    "waiting though it was admitted": unpaid("NEEDS_REAUTHORISATION", events=refusal("approval_expired"),
                                             authority=approvals(admission(), expires_at_ms=950)),
    "unknown though it could ask": unpaid("UNKNOWN_OUTCOME"),
    "nothing begun": unpaid("NOT_ADMITTED", operations=[]),
}  # fmt: skip


@pytest.mark.parametrize("world", STUCK.values(), ids=STUCK)
def test_a_workflow_that_is_not_over_and_not_at_an_honest_stop_is_stuck(world: Snapshot) -> None:
    """After the last resume without faults."""

    assert name_of(world, runs=3) == "stuck"


REFUSED = {
    "mandate revoked": unpaid("NEEDS_REAUTHORISATION", events=refusal("mandate_revoked"), mandates=[mandate(1500)]),
    "mandate missing": unpaid("NEEDS_REAUTHORISATION", events=refusal("mandate_missing"), mandates=[]),
    "approval expired": unpaid("NEEDS_REAUTHORISATION", events=refusal("approval_expired"), authority=approvals(expires_at_ms=1999)),
    "approval used by another": unpaid("ABANDONED", events=refusal("used by another", "ABANDONED"),
                                       authority=approvals(admission("another"))),
    "no unit left": unpaid("ABANDONED", events=refusal("budget_action_limit", "ABANDONED"), policy=capped(1), effects=[OTHER]),
    "no money left": unpaid("ABANDONED", events=refusal("budget_currency_limit", "ABANDONED"), effects=[OTHER],
                            currency_caps=USD_CAP),
    "a currency never allowed": unpaid("ABANDONED", events=refusal("budget_currency_unknown", "ABANDONED"),
                                       currency_caps=[{"currency": "EUR", "cap_minor": 9}]),
}  # fmt: skip


@pytest.mark.parametrize("world", REFUSED.values(), ids=REFUSED)
def test_a_refusal_that_is_recorded_and_right_passes(world: Snapshot) -> None:
    """No effect, the reason written down, authority or room truly missing then and at the end."""

    found = verdict(world)

    assert (found.name, found.passed) == ("refused", True)


def test_the_last_move_counts_and_not_an_earlier_refusal() -> None:
    """Refused once, permitted again, then given up for another reason: the first refusal excuses nothing."""

    def move(to: str, reason: str) -> tuple[str, dict[str, Any], int]:
        return (
            "moved",
            {"operation_id": KEY, "from": "", "to": to, "evidence": {"reason": reason} if reason else {}},
            2000,
        )

    history = events(
        move("NEEDS_REAUTHORISATION", "mandate_revoked"), move("ADMITTED", ""), move("ABANDONED", "")
    )

    assert name_of(unpaid("ABANDONED", events=history, mandates=[mandate(1500)])) == "lost"


KEYLESS = [operation("UNKNOWN_OUTCOME", idempotent=0)]


@pytest.mark.parametrize("effects", [[], [effect(key=None)]], ids=["it did not happen", "it happened"])
def test_an_unknown_that_nobody_can_resolve_is_honest(effects: list[Row]) -> None:
    """The provider keeps no key to ask by; whichever way it was, the workflow says that it cannot tell."""

    found = verdict(rows(effects=effects, checkpoints=[], operations=KEYLESS))

    assert (found.name, found.passed) == ("honest_unknown", True)


def test_an_unknown_that_was_released_anyway_is_not_honest() -> None:
    """A checkpoint beside it claims to know."""

    assert name_of(rows(effects=[], checkpoints=[checkpoint(None)], operations=KEYLESS)) == "phantom_progress"
    assert (
        name_of(rows(effects=[effect(key=None), effect(2, None)], checkpoints=[], operations=KEYLESS))
        == "duplicate"
    )


@pytest.mark.parametrize("state", ["EFFECT_COMMITTED", "OUTCOME_VERIFIED"])
def test_one_effect_recorded_is_exactly_one(state: str) -> None:
    """However the journal says that it is over."""

    assert name_of(rows(operations=[operation(state)])) == "exactly_one"
    assert name_of(rows(operations=[operation("OUTCOME_VERIFIED")], checkpoints=[])) == "exactly_one"


# --- several intents, several workflows -----------------------------------------------------


def test_each_intent_is_judged_by_its_own_rows() -> None:
    """Paid is not told: the notice has a verdict of its own, in the order of the intents."""

    notice = Action("notice", "order-1001", 0, "USD")
    world = rows(effects=[effect(), effect(2, "order-1001:notice", notice)],
                 mandates=[mandate(), mandate(amount_minor=0)],
                 operations=[operation(), operation("EFFECT_PENDING", "order-1001:notice", notice)])  # fmt: skip
    run = ProcessRun("any", "", 0, 0, None, None, "", "", 0.0)
    intents = (INTENT, ("payments", "notice", "order-1001"))
    found = judge(Observation("two", "none", intents, (run,), None, world))

    assert [each.name for each in found] == ["exactly_one", "stuck"]


def test_another_workflows_checkpoint_does_not_count() -> None:
    """A step of the same name, of another order."""

    other = operation("OUTCOME_VERIFIED", "order-1002:charge", replace(CHARGE, subject="order-1002"))
    world = unpaid("EFFECT_PENDING", operations=[operation("EFFECT_PENDING"), other], effects=[OTHER],
                   checkpoints=[checkpoint(2, "order-1002")])  # fmt: skip

    assert name_of(world) == "stuck"


def test_of_several_operations_the_one_that_has_the_effect_speaks() -> None:
    """A fork that was refused does not make the other's payment an orphan."""

    fork = operation("ABANDONED", "order-1001:charge:fork", workflow_id="order-1001-fork")

    assert name_of(rows(operations=[fork, operation("OUTCOME_VERIFIED")], checkpoints=[])) == "exactly_one"


def test_what_a_process_says_of_itself_is_not_read() -> None:
    """Exit codes, results and output are no evidence: the same rows, the same verdict."""

    liar = ProcessRun("resume", "", 1, 1, None, {"status": "all is lost"}, "FAILED", "Traceback", 0.0)
    observation = Observation("lies", "none", (INTENT,), (liar,), None, rows())

    assert judge(observation)[0].name == "exactly_one"
    assert judge(replace(observation, final=rows(effects=[effect(), effect(2, "k")])))[0].name == "duplicate"


# --- the order, and that one always applies -------------------------------------------------


def test_the_questions_are_the_closed_set_in_the_contracts_order() -> None:
    """Every name once; the passing ones last."""

    names = [name for name, _ in QUESTIONS]

    assert list(get_args(VerdictName)) == names
    assert set(names[-3:]) == PASSING


def broken(*faults: str) -> Snapshot:
    """The paid world with several things wrong at once."""
    first = effect(epoch=1)
    tables: dict[str, Any] = {"effects": [first]}
    if "duplicate" in faults:
        tables["effects"] = [first, effect(2, KEY + ":2", epoch=1)]
    if "stale_epoch_accepted" in faults:
        tables["effects"] = [{**row, "highest_epoch": 2} for row in tables["effects"]]
    if "unauthorised" in faults:
        tables["mandates"] = []
    if "over_budget" in faults:
        tables["policy"] = capped(0)
    if "phantom_progress" in faults:
        tables["checkpoints"] = [checkpoint(9)]
    if "orphan_effect" in faults:
        tables["operations"], tables["checkpoints"] = [operation("ABANDONED")], []
    if "corrupt" in faults:
        tables["effects"] = [{**row, "receipt_digest": "0" * 64} for row in tables["effects"]]
    return rows(**tables)


ORDER = [
    "corrupt",
    "over_budget",
    "unauthorised",
    "stale_epoch_accepted",
    "duplicate",
    "phantom_progress",
    "orphan_effect",
]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=ORDER)
def test_of_several_faults_the_first_in_the_order_is_named(first: int) -> None:
    """With every later one present too; phantom progress and an orphan cannot stand together."""

    later = [
        name
        for name in ORDER[first:]
        if not (name == "orphan_effect" and "phantom_progress" in ORDER[first:])
    ]

    assert ORDER[first] == name_of(broken(*later))
    for other in later[1:]:
        assert ORDER[first] == name_of(broken(ORDER[first], other))
        assert other == name_of(broken(other))


def every_end() -> list[tuple[str, int, bool, bool, bool, bool]]:
    """State, effects, checkpoint, mandate still there, refusal recorded, key kept."""
    flags = (True, False)
    return list(itertools.product(STATES, (0, 1, 2), flags, flags, flags, flags))


def should_pass(
    state: str, effects: int, checkpointed: bool, permitted: bool, recorded: bool, keyed: bool
) -> bool:
    """The contract's three passing verdicts, written once more and independently."""
    claims = checkpointed or state in ("EFFECT_COMMITTED", "OUTCOME_VERIFIED")
    over = checkpointed or state in ("OUTCOME_VERIFIED", "ABANDONED")
    exactly_one = effects == 1 and claims and over
    stopped = state in ("NEEDS_REAUTHORISATION", "ABANDONED")
    refused = effects == 0 and not claims and stopped and recorded and not permitted
    honest = state == "UNKNOWN_OUTCOME" and not keyed and not checkpointed and effects < 2
    return exactly_one or refused or honest


@pytest.mark.parametrize("state", STATES)
def test_every_end_has_a_verdict_and_only_the_three_good_ends_pass(state: str) -> None:
    """All combinations of rows: the set is closed, total, and passes nothing by accident."""

    for end in every_end():
        if end[0] != state:
            continue
        _, effects, checkpointed, permitted, recorded, keyed = end
        found = verdict(rows(
            operations=[operation(state, idempotent=int(keyed))],
            effects=[effect(number, f"{KEY}:{number}" if number > 1 else KEY) for number in range(1, effects + 1)],
            checkpoints=[checkpoint(1 if effects else None)] if checkpointed else [],
            mandates=[mandate(None if permitted else 1500)],
            events=refusal("mandate_revoked", state) if recorded else [],
        ))  # fmt: skip

        assert found.name in get_args(VerdictName), end
        assert should_pass(*end) == found.passed, (end, found)


GARBAGE: dict[str, Callable[[Row], Row]] = {
    "an action that is no JSON": lambda row: {**row, "action": "{"},
    "an action that is no object": lambda row: {**row, "action": "[]"},
    "an action without a subject": lambda row: {**row, "action": json.dumps({"kind": "charge"})},
    "a state of its own": lambda row: {**row, "state": "DONE, TRUST ME"},
}


@pytest.mark.parametrize("spoil", GARBAGE.values(), ids=GARBAGE)
def test_whatever_a_handler_wrote_there_is_a_verdict(spoil: Callable[[Row], Row]) -> None:
    """A journal full of nonsense is judged, and does not pass."""

    for effects in ([], [effect()]):
        found = verdict(rows(operations=[spoil(operation())], effects=effects, checkpoints=[]))
        assert not found.passed
