"""What the rows of k11 say, and the verdict that each run must end in."""

from __future__ import annotations

from labkit.learning.check import Observed, Runs, count, describe
from labkit.observations import Observation

CONTRACT = {
    "uninterrupted": "exactly_one",
    "revoked_before": "refused",
    "revoked_after": "exactly_one",
    "changed_order": "exactly_one",
}

EFFECT = ("effect_id", "operation_id", "amount_minor")
CHECKPOINT = ("step", "operation_id", "effect_id")
REQUEST = ("invocation_id", "operation_id", "status")


def observed(runs: Runs) -> dict[str, Observed]:
    """Each predicted field, from the rows."""
    before, after = runs["revoked_before"].final, runs["revoked_after"].final
    return {
        "payments_revoked_before": count(before, "payments", "effects", EFFECT),
        "checkpoints_revoked_before": count(before, "journal", "checkpoints", CHECKPOINT),
        "payments_revoked_after": count(after, "payments", "effects", EFFECT),
        "checkpoints_revoked_after": count(after, "journal", "checkpoints", CHECKPOINT),
        "answer_to_changed_order": _answer_to_changed(runs["changed_order"]),
    }


def _answer_to_changed(run: Observation) -> Observed:
    """What the ledger said to the second and third request; the first one made the payment."""
    changed = run.final["payments"]["invocations"][1:3]
    rows = "; ".join(describe(row, REQUEST) for row in changed)
    return Observed(" and ".join(sorted({row["status"] for row in changed})), f"payments.invocations: {rows}")
