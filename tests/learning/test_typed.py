"""Answers and certainties as people type them."""

from __future__ import annotations

import pytest

from labkit.errors import BadPrediction
from labkit.learning.katas import Field
from labkit.learning.typed import band_of, from_text

WHO = Field("who", "choice", "Who knows?", ("ledger", "journal"))
HOW_MANY = Field("effects", "integer", "How many?")


@pytest.mark.parametrize(
    ("typed", "band"),
    [("0", "<67"), ("66", "<67"), ("67", "67-80"), ("80 %", "67-80"), ("81", ">80"), ("100%", ">80"),
     ("> 80 %", ">80"), ("67 - 80", "67-80")],
)  # fmt: skip
def test_a_certainty_is_a_band_or_a_number_in_one(typed: str, band: str) -> None:
    assert band_of(typed) == band


@pytest.mark.parametrize("typed", ["101", "-1", "66.6", "\u0668\u0665", "sure", "80+", "9" * 500])
def test_another_certainty_is_refused_in_one_short_line(typed: str) -> None:
    with pytest.raises(BadPrediction, match="or a number from 0 to 100") as refused:
        band_of(typed)
    assert len(str(refused.value)) < 130


def test_nothing_typed_is_said_to_be_nothing() -> None:
    for read in (band_of, lambda text: from_text(HOW_MANY, text)):
        with pytest.raises(BadPrediction, match="left empty"):
            read(" ")


@pytest.mark.parametrize("typed", ["ledger", ' "ledger" ', "'LEDGER'"])
def test_a_choice_may_be_typed_as_the_question_writes_it(typed: str) -> None:
    assert from_text(WHO, typed) == "ledger"


@pytest.mark.parametrize(
    ("typed", "answer"), [("l", "ledger"), ("Journ", "journal"), ("paid", "paid"), ("paid_t", "paid_twice")]
)
def test_the_beginning_of_one_choice_is_enough(typed: str, answer: str) -> None:
    """A choice that is another's beginning is meant when it is typed whole."""
    field = Field("who", "choice", "Who knows?", ("ledger", "journal", "paid", "paid_twice"))
    assert from_text(field, typed) == answer


@pytest.mark.parametrize("typed", ["pai", "ledgers", "dger"])
def test_the_beginning_of_several_choices_or_of_none_is_refused(typed: str) -> None:
    with pytest.raises(BadPrediction, match="give one of"):
        from_text(Field("who", "choice", "Who knows?", ("ledger", "paid", "paid_twice")), typed)


@pytest.mark.parametrize("typed", ["1.0", "1e5", "\u0663", "9" * 10, "0x1"])
def test_what_is_no_whole_number_of_nine_digits_is_refused(typed: str) -> None:
    with pytest.raises(BadPrediction, match="nine digits at most"):
        from_text(HOW_MANY, typed)
    assert (from_text(HOW_MANY, "-0"), from_text(HOW_MANY, "+3")) == (0, 3)
