"""The exact request and what caps it: a value that exists may cross a border, anything else is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.actions import LARGEST_EXACT_INTEGER, Action, BudgetPolicy, is_currency, is_minor_units
from labkit.errors import BadAction, BadOption

ORDER = {"kind": "charge", "subject": "order-1001", "amount_minor": 4000, "currency": "USD"}
NO_AMOUNTS = [4000.0, True, False, "4000", None, -1, LARGEST_EXACT_INTEGER + 1, float("nan")]
NO_CURRENCIES = ["usd", "US", "USDX", "U1D", "", None, 840, "USD\n", "\uff35\uff33\uff24"]
NO_TEXTS = ["", "   ", "\n", None, 7, ["charge"], "half a pair \ud83d"]


def test_a_file_and_a_constructor_make_the_same_action() -> None:
    """One order, however it came in."""

    assert Action("charge", "order-1001", 4000, "USD") == Action.from_json(json.loads(json.dumps(ORDER)))


def test_details_are_a_set_of_names_in_any_order() -> None:
    """Their order in a file does not change what is approved."""

    one = Action.from_json({**ORDER, "details": {"b": "2", "a": "1"}})
    other = Action.from_json({**ORDER, "details": {"a": "1", "b": "2"}})

    assert (one, one.digest) == (other, other.digest)


def test_what_is_stored_is_what_was_digested() -> None:
    """An action read back from its own JSON has its own digest."""

    action = Action("charge", "order-1001", 4000, "USD", (("memo", "first"),))

    assert action == Action.from_json(action.as_json)


@pytest.mark.parametrize("name", ["kind", "subject", "amount_minor", "currency"])
def test_each_field_is_part_of_the_digest(name: str) -> None:
    """An approval fits one order and no other."""

    other = {"kind": "refund", "subject": "order-1002", "amount_minor": 4001, "currency": "EUR"}

    assert Action.from_json(ORDER).digest != Action.from_json({**ORDER, name: other[name]}).digest


@pytest.mark.parametrize("name", ["kind", "subject", "amount_minor", "currency"])
def test_a_missing_field_is_named(name: str) -> None:
    """One line with the file, the field and the cure."""

    value = {key: field for key, field in ORDER.items() if key != name}

    with pytest.raises(BadAction) as raised:
        Action.from_json(value, "charge.json")
    assert f"charge.json lacks the field `{name}`: add it" == str(raised.value)


BAD_FIELDS = (
    [("amount_minor", value) for value in NO_AMOUNTS]
    + [("currency", value) for value in NO_CURRENCIES]
    + [(name, value) for name in ("kind", "subject") for value in NO_TEXTS]
    + [("details", value) for value in (None, [], "memo", {"memo": 1}, {"memo": None}, {"memo": "\udc00"})]
)


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS, ids=lambda value: ascii(value))
def test_a_value_that_cannot_be_an_order_is_refused_by_name(name: str, value: Any) -> None:
    """A float or boolean amount, a lower-case currency, half a character: file and field in the one line."""

    with pytest.raises(BadAction) as raised:
        Action.from_json({**ORDER, name: value}, "charge.json")
    assert str(raised.value).startswith("charge.json")
    assert f"`{name}`" in str(raised.value)
    assert raised.value.cure
    str(raised.value).encode()  # can be printed


@pytest.mark.parametrize("value", [None, [], "charge", 4000, [ORDER]], ids=ascii)
def test_what_is_no_object_is_refused(value: Any) -> None:
    """A list of orders is not one order."""

    with pytest.raises(BadAction, match=r"charge.json is not a JSON object"):
        Action.from_json(value, "charge.json")


def test_an_unknown_field_is_refused_and_not_ignored() -> None:
    """`amout_minor` beside `amount_minor` is a mistake that costs money."""

    with pytest.raises(BadAction, match=r"unknown field `amout_minor`"):
        Action.from_json({**ORDER, "amout_minor": 1})


@pytest.mark.parametrize(
    "details", [(("b", "1"), ("a", "2")), (("a", "1"), ("a", "2")), (("a", 1),)], ids=repr
)
def test_details_in_code_are_sorted_pairs_of_text(details: Any) -> None:
    """Two values that mean the same are equal, so only one spelling is one."""

    with pytest.raises(BadAction, match="`details`"):
        Action("charge", "order-1001", 4000, "USD", details)


@given(st.integers())
def test_minor_units_are_exact_in_json(value: int) -> None:
    """From zero to 2^53-1, where JSON numbers still count by ones."""

    assert (0 <= value < 2**53) == is_minor_units(value)


@given(st.text(max_size=4))
def test_a_currency_is_three_upper_case_letters(value: str) -> None:
    """ISO 4217 in form; ASCII letters only."""

    assert (len(value) == 3 and value.isascii() and value.isalpha() and value.isupper()) == is_currency(value)


@pytest.mark.parametrize("cap", [0, 1, LARGEST_EXACT_INTEGER])
def test_zero_is_a_cap_and_the_largest_exact_integer_too(cap: int) -> None:
    """A cap of nothing permits nothing; it is not the same as no cap."""

    policy = BudgetPolicy(cap, (("USD", cap),))

    assert policy.is_capped
    assert BudgetPolicy(cap).is_capped
    assert BudgetPolicy(None, (("USD", cap),)).is_capped
    assert (cap, (("USD", cap),)) == (policy.max_effects, policy.caps_minor)
    assert not BudgetPolicy().is_capped


@pytest.mark.parametrize(
    "cap", [True, False, -1, 1.0, "1", LARGEST_EXACT_INTEGER + 1, float("inf")], ids=repr
)
def test_a_cap_is_a_count_and_nothing_else(cap: Any) -> None:
    """Booleans, negatives, non-integers and values over 2^53-1 are refused, for effects and for money."""

    with pytest.raises(BadOption, match=r"max_effects.*0 to 2\^53-1"):
        BudgetPolicy(cap)
    with pytest.raises(BadOption, match=r"cap for USD.*0 to 2\^53-1"):
        BudgetPolicy(None, (("USD", cap),))


@pytest.mark.parametrize("cap", [None])
def test_no_cap_for_a_currency_is_said_by_leaving_it_out(cap: Any) -> None:
    """A currency that is named has a number."""

    with pytest.raises(BadOption, match="cap for USD"):
        BudgetPolicy(None, (("USD", cap),))


@pytest.mark.parametrize("currency", NO_CURRENCIES, ids=ascii)
def test_a_cap_is_for_a_currency(currency: Any) -> None:
    """The same rule as for an order's currency."""

    with pytest.raises(BadOption, match="budget currency"):
        BudgetPolicy(None, ((currency, 1),))


def test_a_currency_has_one_cap() -> None:
    """Two caps for one currency would leave it to chance which of them holds."""

    with pytest.raises(BadOption, match="a currency twice"):
        BudgetPolicy(None, (("USD", 1), ("USD", 2)))
