"""Predicted beside observed: what the rows say counts, and a wrong answer gets its explanation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.errors import BadKata
from labkit.learning import check, predict
from labkit.learning.check import Observed
from labkit.learning.katas import Kata
from labkit.observations import Observation, ProcessRun, Verdict

from .conftest import ANSWERS

TRUE = {
    "effects": Observed(1, "payments.effects: effect_id=1"),
    "finished": Observed(True, "journal.checkpoints: step=charge"),
    "who": Observed("ledger", "payments.effects: effect_id=1"),
}
RUN = ProcessRun("resume", "", 1, -9, None, None, "", "", 1.0)
SEEN = Observation(
    "a", "none", (), (RUN,), None, {}, verdicts=(Verdict("duplicate", False, "payments: 2 effects"),)
)


def test_a_right_prediction_needs_no_explanation(kata: Kata) -> None:
    checked = check.compare(kata, predict.whole(kata, ANSWERS), TRUE)

    assert checked.right == 3
    assert [(one.field, one.right, one.why) for one in checked.answers] == [
        ("effects", True, ""),
        ("finished", True, ""),
        ("who", True, ""),
    ]


def test_a_wrong_answer_names_the_row_and_the_misconception(kata: Kata) -> None:
    checked = check.compare(kata, predict.whole(kata, ANSWERS | {"effects": 2, "who": "journal"}), TRUE)

    effects, finished, who = checked.answers
    assert checked.right == 1
    assert (effects.predicted, effects.observed, effects.row) == (2, 1, "payments.effects: effect_id=1")
    assert effects.why == "One call, one effect."
    assert finished.right
    assert (who.right, who.why) == (False, "")


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({name: TRUE[name] for name in ("effects", "finished")}, "differ in field `who`"),
        (TRUE | {"more": Observed(1, "")}, "differ in field `more`"),
        (TRUE | {"effects": Observed(True, "")}, "observes `effects` as True"),
    ],
)
def test_checks_that_answer_something_else_are_a_bad_kata(
    kata: Kata, observed: dict[str, Observed], message: str
) -> None:
    with pytest.raises(BadKata, match=message):
        check.compare(kata, predict.whole(kata, ANSWERS), observed)


def test_a_contract_may_expect_a_failing_verdict() -> None:
    [kept] = check.contract_of({"mutant": "duplicate"}, {"mutant": SEEN})

    assert (kept.passed, kept.verdict, kept.because) == (True, "duplicate", "payments: 2 effects")


def test_a_contract_that_is_broken_says_so() -> None:
    [kept] = check.contract_of({"reference": "exactly_one"}, {"reference": SEEN})

    assert (kept.passed, kept.expected, kept.verdict) == (False, "exactly_one", "duplicate")


def test_a_run_that_was_not_judged_keeps_no_contract() -> None:
    run = replace(SEEN, outcome="not_killed", explanation="it exited with 0", verdicts=())

    [kept] = check.contract_of({"reference": "exactly_one"}, {"reference": run})

    assert (kept.passed, kept.verdict, kept.because) == (False, "not_killed", "it exited with 0")


def test_rows_are_counted_and_named() -> None:
    rows = {"payments": {"effects": [{"effect_id": 1, "note": "x"}, {"effect_id": 2, "note": "y"}]}}

    assert check.count(rows, "payments", "effects", ("effect_id",)) == Observed(
        2, "payments.effects: effect_id=1; effect_id=2"
    )
    assert check.count(None, "payments", "effects", ("effect_id",)) == Observed(0, "payments.effects: no row")


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("payments.effects: effect_id=1, operation_id=order:charge; effect_id=2", "payments.effects"),
        ("payments.policy: max_effects=1; payments.effects: no row", "payments.policy and payments.effects"),
        ("process 2 (resume): exit code 0", "process 2 (resume)"),
        ("a sentence of the kata's own", "a sentence of the kata's own"),
    ],
)
def test_what_was_misread_is_named_by_its_table(kata: Kata, row: str, where: str) -> None:
    checked = check.compare(kata, predict.whole(kata, ANSWERS), TRUE | {"effects": Observed(1, row)})

    effects, finished, who = check.with_reading(
        checked, {"effects": 2, "finished": True, "who": "ledger"}
    ).answers
    assert (effects.misread, finished.misread, who.misread) == (True, False, False)
    assert effects.where == where


def test_an_exit_code_is_that_of_the_process_asked_for() -> None:
    assert check.exit_code(SEEN, 1) == Observed(-9, "process 1 (resume): exit code -9")
