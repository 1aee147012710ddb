"""Calibration: the score, what it declines to say, and what is to be asked again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.learning import calibration
from labkit.learning.calibration import Tally
from labkit.learning.katas import Answer, Kata, Misconception
from labkit.learning.predict import Prediction, Sealed

TRUE: dict[str, Answer] = {"effects": 1, "finished": True, "who": "ledger"}


def several(kata: Kata, count: int) -> list[Kata]:
    """Katas that differ in name, and by turns in part."""
    return [
        replace(kata, folder=Path(f"k{number:02}_small"), part=1 + number % 2)
        for number in range(1, count + 1)
    ]


def sealed(kata: Kata, certainty: str = ">80", **changed: Any) -> Sealed:
    return Sealed(1, kata.slug, Prediction({**TRUE, **changed}, certainty, "so"), 1, "", "")


def rows_of(katas: list[Kata]) -> dict[str, dict[str, Any]]:
    return {kata.slug: dict(TRUE) for kata in katas}


def test_fewer_than_ten_answers_get_no_score(kata: Kata) -> None:
    katas = several(kata, 3)

    found = calibration.review(katas, [sealed(one) for one in katas], rows_of(katas))

    assert found.overall == Tally("all", 9, 9, None)
    assert not found.enough
    assert [band.says for band in found.bands] == [None, None, None]


def test_the_score_is_the_mean_squared_distance(kata: Kata) -> None:
    """Eight right and one wrong at 0.9, three right at an even chance; by hand."""
    katas = several(kata, 4)
    journal = [sealed(one) for one in katas[:3]] + [sealed(katas[3], "<67")]
    journal[0] = sealed(katas[0], effects=2)

    found = calibration.review(katas, journal, rows_of(katas))

    assert found.enough
    assert found.overall.right == 11
    assert found.overall.brier == pytest.approx((8 * 0.01 + 0.81 + 3 * 0.25) / 12)
    assert [(band.name, band.answers) for band in found.bands] == [("<67", 3), ("67-80", 0), (">80", 9)]
    assert [part.answers for part in found.parts] == [6, 6]
    assert {part.brier for part in found.parts} == {None}


def test_the_first_prediction_is_scored_and_the_latest_says_whether_to_ask_again(kata: Kata) -> None:
    katas = several(kata, 2)
    journal = [sealed(katas[0], effects=2), sealed(katas[1], effects=2), sealed(katas[0])]

    found = calibration.review(katas, journal, rows_of(katas))

    assert found.overall.right == 4
    assert [one.kata for one in found.wrong] == ["k01_small", "k02_small"]
    assert found.again == ("k02_small",)


def test_a_prediction_spoilt_later_is_asked_again_too(kata: Kata) -> None:
    katas = several(kata, 2)
    journal = [sealed(katas[0]), sealed(katas[1], "<67", effects=2), sealed(katas[0], effects=7)]

    assert calibration.review(katas, journal, rows_of(katas)).again == ("k02_small", "k01_small")


def test_the_surest_errors_come_first_each_with_its_misconception(kata: Kata) -> None:
    katas = several(kata, 3)
    journal = [
        sealed(katas[0], "<67", effects=2),
        sealed(katas[1], "67-80", finished=False),
        sealed(katas[2], effects=2, who="journal"),
    ]

    found = calibration.review(katas, journal, rows_of(katas))

    assert [(one.kata, one.field, one.why) for one in found.wrong] == [
        ("k03_small", "effects", "One call, one effect."),
        ("k03_small", "who", ""),
        ("k02_small", "finished", ""),
        ("k01_small", "effects", "One call, one effect."),
    ]
    assert found.again == ("k03_small", "k02_small", "k01_small")


BELIEFS = (
    Misconception("effects", 2, "One call, one effect.", "again"),
    Misconception("effects", 0, "It stands.", "taken_back"),
    Misconception("who", "journal", "It only believes.", "silence"),
    Misconception("finished", False, "It did."),
)


def test_an_answer_counts_for_every_belief_that_its_question_would_show(kata: Kata) -> None:
    """Twelve katas ask for the effects: two answers show one belief, one another, one none that is known."""
    katas = several(replace(kata, misconceptions=BELIEFS), 12)
    journal = [sealed(one) for one in katas]
    for number, answer in ((0, 2), (1, 0), (2, 2), (3, 9)):
        journal[number] = sealed(katas[number], "<67", effects=answer)

    again, taken_back, silence = calibration.review(katas, journal, rows_of(katas)).beliefs

    assert (again.name, again.believed) == ("running it again does it again", 2)
    assert (taken_back.believed, silence.believed) == (1, 0)
    assert (again.answers, again.right) == (taken_back.answers, taken_back.right) == (12, 8)
    assert again.brier == pytest.approx((4 * 0.25 + 8 * 0.01) / 12)
    assert [(band.name, band.answers, band.right) for band in again.bands] == [
        ("<67", 4, 0),
        ("67-80", 0, 0),
        (">80", 8, 8),
    ]


def test_a_part_has_its_own_bands(kata: Kata) -> None:
    katas = several(kata, 3)

    two, one = calibration.review(katas, [sealed(one) for one in katas], rows_of(katas)).parts[::-1]

    assert (one.name, one.answers, one.brier) == ("1 One boundary at a time", 3, None)
    assert [(band.name, band.answers) for band in two.bands] == [("<67", 0), ("67-80", 0), (">80", 6)]


def test_what_was_never_run_is_not_scored(kata: Kata) -> None:
    katas = several(kata, 2)

    found = calibration.review(katas, [sealed(one) for one in katas], {"k01_small": {"effects": 1}})

    assert found.overall.answers == 1
    assert calibration.review(katas, [], {}).overall == Tally("all", 0, 0, None)


CONCLUSIONS = {
    "much too sure": (">80", 20, 8, "surer than right"),
    "a little too sure may be chance": (">80", 10, 7, "no difference shown"),
    "as sure as right": ("67-80", 20, 15, "no difference shown"),
    "too modest": ("<67", 30, 29, "righter than sure"),
    "all right at the top": (">80", 40, 40, "no difference shown"),
    "all wrong at the bottom": ("<67", 40, 0, "no difference shown"),
}


@pytest.mark.parametrize(("band", "count", "right", "says"), CONCLUSIONS.values(), ids=CONCLUSIONS.keys())
def test_a_band_is_judged_only_where_chance_does_not_explain_it(
    band: str, count: int, right: int, says: str
) -> None:
    assert calibration.conclusion(band, count, right) == says


def test_the_interval_is_wilsons() -> None:
    """8 of 10; 0.4902 to 0.9433 in the tables."""
    assert calibration.wilson(10, 8) == pytest.approx((0.4902, 0.9433), abs=1e-4)
