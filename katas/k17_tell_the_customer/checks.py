"""What the rows of k17 say: payment and notice together, and whether the notice is true and founded.

Three names of the kata's own stand beside the closed set, all of them for a notice that was sent once and
recorded: `unfounded_notice` (nobody had verified the payment by then), `untrue_notice` (it does not say what
the payment was), `shared_identity` (it was sent under the payment's operation id).
"""

from __future__ import annotations

import json

from labkit.learning.cases import Case, case_of
from labkit.learning.check import Observed, Runs, count
from labkit.learning.judge import judge_case
from labkit.observations import Observation, Verdict

CONTRACT = {
    "uninterrupted": "exactly_one, exactly_one",
    "killed": "exactly_one, exactly_one",
    "one_flag": "exactly_one, lost",
}

PAYMENT = ("payments", "charge", "order-1001")
NOTICE = ("messages", "notify", "order-1001")
EFFECT = ("effect_id", "operation_id")


def observed(runs: Runs) -> dict[str, Observed]:
    """Each predicted field, from the rows."""
    killed, one_flag = runs["killed"], runs["one_flag"]
    assert killed.interruption is not None
    payment = next(row for row in killed.interruption["journal"]["operations"] if row["step"] == "charge")
    return {
        "payment_state_at_the_kill": Observed(
            payment["state"], f"journal.operations: step=charge, state={payment['state']}"
        ),
        "notices_at_the_kill": count(killed.interruption, "messages", "effects", EFFECT),
        "payments_after_resume": count(killed.final, "payments", "effects", EFFECT),
        "notices_after_resume": count(killed.final, "messages", "effects", EFFECT),
        "notices_with_one_flag": count(one_flag.final, "messages", "effects", EFFECT),
    }


def judge(observation: Observation) -> tuple[Verdict, ...]:
    """The payment's verdict, then the notice's: the closed set, and what it cannot know of a notice."""
    payment, notice = case_of(observation, PAYMENT), case_of(observation, NOTICE)
    paid, told = judge_case(payment), judge_case(notice)
    if paid.name == "refused" and not notice.effects and not notice.claimed:
        return paid, Verdict("refused", True, "payments: refused; messages: rightly nothing was said")
    if told.passed:
        for name, question in OWN_QUESTIONS:
            if because := question(payment, notice):
                return paid, Verdict(name, False, because)
    return paid, told


def _unfounded(payment: Case, notice: Case) -> str | None:
    """A notice that went out before the journal held the payment to be verified.

    Within one run nobody can tell: its rows carry one time.  A crash between the two shows it.
    """
    said_ms = min(row["committed_at_ms"] for row in notice.effects)
    if payment.state != "OUTCOME_VERIFIED":
        return f"messages: a notice was sent; journal: the payment is {payment.state}, not verified"
    verified_ms = min(row["at_ms"] for row in payment.checkpoints)
    if said_ms < verified_ms:
        return f"messages: a notice was sent at {said_ms} ms; journal: the payment was verified at {verified_ms} ms"
    return None


def _untrue(payment: Case, notice: Case) -> str | None:
    text = json.loads(notice.effects[0]["details"]).get("text", "")
    missing = [
        str(value)
        for value in (payment.effects[0]["amount_minor"], payment.effects[0]["currency"])
        if str(value) not in text
    ]
    if missing:
        return f"messages: the notice says {text!r}, and nothing of {' '.join(missing)}"
    return None


def _shared_identity(payment: Case, notice: Case) -> str | None:
    name = notice.effects[0]["operation_id"]
    if name is None or name == payment.effects[0]["operation_id"]:
        return f"messages: the notice was sent under {name or 'no id'}, which is not an id of its own"
    return None


# Asked in this order; each may rely on the answers before it: the payment is verified, so it has an effect.
OWN_QUESTIONS = (
    ("unfounded_notice", _unfounded),
    ("untrue_notice", _untrue),
    ("shared_identity", _shared_identity),
)
