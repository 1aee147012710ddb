"""One meaning, one sequence of bytes (RFC 8785), one digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from labkit.canonical import canonical_bytes, digest

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
EXACT = st.integers(-(2**53) + 1, 2**53 - 1)
VALUES = st.recursive(
    st.none() | st.booleans() | EXACT | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def reversed_keys(value: Any) -> Any:
    """The same value with every object's keys in the opposite order."""
    if isinstance(value, dict):
        return {name: reversed_keys(value[name]) for name in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_key_order_and_white_space_do_not_change_the_digest(value: Any) -> None:
    """Two spellings of one order are one order."""

    respelled = json.loads(json.dumps(reversed_keys(value), indent=3))

    assert digest(value) == digest(respelled)


@given(VALUES)
def test_canonical_bytes_mean_what_they_were_made_of(value: Any) -> None:
    """Nothing is lost: what is digested can be read back."""

    assert value == json.loads(canonical_bytes(value))


@given(VALUES, VALUES)
def test_other_values_have_other_bytes(one: Any, other: Any) -> None:
    """Equal bytes only for equal meaning; a boolean is no number."""

    same_meaning = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert same_meaning == (canonical_bytes(one) == canonical_bytes(other))


def test_one_cent_changes_the_digest() -> None:
    """An approval of 4,000 is none of 4,001."""

    assert digest({"amount_minor": 4000}) != digest({"amount_minor": 4001})


def test_the_digest_is_sha_256_of_the_bytes() -> None:
    """Anybody can recompute it without labkit."""

    assert hashlib.sha256(b'{"a":1,"b":[true,null]}').hexdigest() == digest({"b": [True, None], "a": 1})


# Taken from the examples of RFC 8785, sections 3.2.2 and 3.2.3.
RFC = {
    "numbers": ([333333333.33333329, 1e30, 4.5, 2e-3, 1e-27], b"[333333333.3333333,1e+30,4.5,0.002,1e-27]"),
    "literals": ([None, True, False], b"[null,true,false]"),
    "sorted by UTF-16 units": ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7},
        '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'.encode()),
    "strings": ("\u20ac$\u000f\nA'B\"\\\\\"/", '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()),
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), RFC.values(), ids=RFC)
def test_the_bytes_are_those_of_rfc_8785(value: Any, expected: bytes) -> None:
    """The examples of the standard come out byte for byte."""

    assert expected == canonical_bytes(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53), "\ud800", {1: "a"}], ids=repr)
def test_what_json_cannot_carry_exactly_is_refused(value: Any) -> None:
    """Rather no digest than one of another value."""

    with pytest.raises(rfc8785.CanonicalizationError):
        canonical_bytes(value)
