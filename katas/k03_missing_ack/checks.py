"""What the rows of k03 say, and the verdict that each run must end in."""

from __future__ import annotations

from labkit.learning.check import Observed, Runs, count, exit_code

CONTRACT = {"uninterrupted": "exactly_one", "killed": "exactly_one", "new_key": "duplicate"}

EFFECT = ("effect_id", "operation_id", "amount_minor")
CHECKPOINT = ("step", "operation_id", "effect_id")


def observed(runs: Runs) -> dict[str, Observed]:
    """Each predicted field, from the rows."""
    killed, new_key = runs["killed"], runs["new_key"]
    return {
        "payments_at_the_kill": count(killed.interruption, "payments", "effects", EFFECT),
        "checkpoints_at_the_kill": count(killed.interruption, "journal", "checkpoints", CHECKPOINT),
        "payments_after_resume": count(killed.final, "payments", "effects", EFFECT),
        "payments_with_new_key": count(new_key.final, "payments", "effects", EFFECT),
        "exit_code_with_new_key": exit_code(new_key, 2),
    }
