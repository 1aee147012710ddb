"""Whether one more effect fits, as a pure function of the policy and what committed rows consumed."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.values import Action, BudgetPolicy, SubmitStatus


def refusal(
    policy: BudgetPolicy, charged_effects: int, charged_minor: Mapping[str, int], action: Action
) -> SubmitStatus | None:
    """Why the action does not fit, None where it does.

    Once any currency has a cap, a currency without one is refused: a cap that can be passed by
    paying in another currency is none.

    >>> refusal(BudgetPolicy(max_effects=1), 1, {"USD": 4000}, Action("charge", "order-2", 1, "USD"))
    'budget_action_limit'
    """
    if policy.max_effects is not None and charged_effects >= policy.max_effects:
        return "budget_action_limit"
    caps = dict(policy.caps_minor)
    if not caps:
        return None
    if action.currency not in caps:
        return "budget_currency_unknown"
    if charged_minor.get(action.currency, 0) + action.amount_minor > caps[action.currency]:
        return "budget_currency_limit"
    return None
