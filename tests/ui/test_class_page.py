"""The class's page: what it believes, and whether it is as right as it is sure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.grading.classroom import ClassResult, Row
from labkit.learning import katas
from labkit.learning.katas import Kata
from labkit.learning.predict import Prediction
from labkit.ui import class_page

ROOT = Path(__file__).parents[2]
TRUE = {
    "payments_at_the_kill": 1,
    "checkpoints_at_the_kill": 0,
    "payments_after_resume": 1,
    "payments_with_new_key": 2,
    "exit_code_with_new_key": 0,
}


@pytest.fixture(scope="module")
def asked() -> Kata:
    return katas.load(ROOT / "katas" / "k03_missing_ack")


def result(kata: Kata, *given: tuple[str, dict[str, Any]]) -> ClassResult:
    """A class of which each has predicted so, and handed in nothing else."""
    rows = [
        Row(f"learner {number}", {}, {kata.slug: Prediction({**TRUE, **answers}, certainty, "so")}, ())
        for number, (certainty, answers) in enumerate(given, 1)
    ]
    return ClassResult(tuple(rows), (kata,), {kata.slug: dict(TRUE)}, "none")


def test_a_class_is_drawn_from_ten_answers_on(asked: Kata) -> None:
    one = class_page.page(result(asked, (">80", {})))
    three = class_page.page(result(asked, *[(">80", {"payments_with_new_key": 1})] * 3))

    assert "5 of 10 answers: too few to draw." in one
    assert "<svg" not in one
    assert "too few to draw" not in three
    assert three.count("<svg") == 1
    assert "<td>12 of 15 fields</td><td>no difference shown</td>" in three


def test_a_class_that_is_surer_than_right_is_told_so_and_what_it_believes(asked: Kata) -> None:
    spoilt = {"payments_with_new_key": 1, "payments_after_resume": 2, "payments_at_the_kill": False}

    page = class_page.page(result(asked, *[(">80", spoilt)] * 10))

    assert "<td>20 of 50 fields</td><td>surer than right</td>" in page  # False is no 0, and true nowhere
    assert "<td>an order is known again without its key</td><td>10 of 10</td>\n<td>0.81</td>" in page
    assert page.index("an order is known") > page.index("running it again does it again")
