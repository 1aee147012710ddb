"""What a ledger's committed rows have consumed, and what that leaves.  Nothing is counted on the side."""

from __future__ import annotations

from labkit.stores.ledger import Ledger
from labkit.values import BudgetSnapshot


def budget_snapshot(ledger: Ledger) -> BudgetSnapshot:
    """The allowance as it follows from the rows; losing the journal changes nothing in it."""
    policy = ledger.budget_policy()
    charged_effects, charged_minor = ledger.consumption()
    return BudgetSnapshot(
        charged_effects=charged_effects,
        charged_minor=charged_minor,
        remaining_effects=None if policy.max_effects is None else policy.max_effects - charged_effects,
        remaining_minor={
            currency: cap - charged_minor.get(currency, 0) for currency, cap in policy.caps_minor
        },
    )
