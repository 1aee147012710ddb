"""Whether one more effect fits, as a pure function: checked here against its definition, over many values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from labkit.stores.capacity import refusal
from labkit.values import Action, BudgetPolicy

CURRENCIES = ("EUR", "USD", "JPY")
AMOUNTS = st.integers(0, 5)
CAPS = st.dictionaries(st.sampled_from(CURRENCIES), AMOUNTS).map(lambda caps: tuple(sorted(caps.items())))
POLICIES = st.builds(BudgetPolicy, st.none() | AMOUNTS, CAPS)
SPENT = st.dictionaries(st.sampled_from(CURRENCIES), AMOUNTS)
ACTIONS = st.builds(Action, st.just("charge"), st.just("order-1001"), AMOUNTS, st.sampled_from(CURRENCIES))


@given(POLICIES, AMOUNTS, SPENT, ACTIONS)
def test_what_is_let_through_keeps_every_cap(
    policy: BudgetPolicy, effects: int, spent: dict[str, int], action: Action
) -> None:
    """Safety: after it neither the count nor the currency's sum is over, and its currency is a known one."""

    if refusal(policy, effects, spent, action) is not None:
        return
    caps = dict(policy.caps_minor)
    after = spent.get(action.currency, 0) + action.amount_minor

    assert policy.max_effects is None or effects + 1 <= policy.max_effects
    assert not caps or after <= caps[action.currency]


@given(POLICIES, AMOUNTS, SPENT, ACTIONS)
def test_what_is_refused_would_break_the_cap_that_is_named(
    policy: BudgetPolicy, effects: int, spent: dict[str, int], action: Action
) -> None:
    """Liveness: nothing is refused for nothing."""

    caps = dict(policy.caps_minor)
    after = spent.get(action.currency, 0) + action.amount_minor
    breaks = {
        "budget_action_limit": policy.max_effects is not None and effects >= policy.max_effects,
        "budget_currency_unknown": bool(caps) and action.currency not in caps,
        "budget_currency_limit": after > caps.get(action.currency, after),
        None: True,
    }

    assert breaks[refusal(policy, effects, spent, action)]
