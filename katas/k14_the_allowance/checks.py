"""What the rows of k14 say, the verdict that each run must end in, and the allowance of its exercise."""

from __future__ import annotations

from dataclasses import replace

from labkit.learning import judge as closed_set
from labkit.learning.check import Observed, Runs, count, describe
from labkit.observations import Observation, Snapshot, Verdict

CONTRACT = {
    "three_requests": "exactly_one",
    "before_commit": "exactly_one",
    "after_commit": "exactly_one",
    "journal_lost": "exactly_one",
}

EFFECT = ("effect_id", "operation_id", "amount_minor")
REQUEST = ("operation_id", "status")


def observed(runs: Runs) -> dict[str, Observed]:
    """Each predicted field, from the rows."""
    lost = runs["journal_lost"].final
    return {
        "left_after_death_before_commit": _left(runs["before_commit"].interruption),
        "left_after_death_after_commit": _left(runs["after_commit"].interruption),
        "payments_after_lost_journal": count(lost, "payments", "effects", EFFECT),
        "answer_to_new_key": _last_answer(lost),
    }


def _left(rows: Snapshot | None) -> Observed:
    """What the cap still permits: the cap less the rows."""
    assert rows is not None
    cap = rows["payments"]["policy"][0]["max_effects"]
    used = count(rows, "payments", "effects", EFFECT)
    return Observed(cap - int(used.value), f"payments.policy: max_effects={cap}; {used.row}")


def _last_answer(rows: Snapshot) -> Observed:
    request = rows["payments"]["invocations"][-1]
    return Observed(request["status"], f"payments.invocations: {describe(request, REQUEST)}")


def judge(observation: Observation) -> tuple[Verdict, ...]:
    """The closed set.  The ledger of the exercise has no cap, since the learner keeps it: it is judged by one."""
    final = dict(observation.final)
    payments = final["payments"]
    uncapped = [row for row in payments["policy"] if row["max_effects"] is None]
    if uncapped:
        final["payments"] = {
            **payments,
            "policy": [{**uncapped[0], "max_effects": 1}],
            "currency_caps": [{"currency": "USD", "cap_minor": 4000}],
        }
    return closed_set.judge(replace(observation, final=final))
