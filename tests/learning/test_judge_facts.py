"""Verdicts from facts: every row of the table in docs/sweep.md, and the order of its rows."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from labkit.learning.judge_facts import judge
from labkit.observations import PASSING, Observation, Row, VerdictName


def observation(*rows: Row, intents: tuple[str, ...] = ("a",), unreadable: str = "") -> Observation:
    """An observation with these facts at its end."""
    facts = {"intents": list(rows), "unreadable": [{"because": unreadable}] if unreadable else []}
    return Observation(
        "orders", "kill at 4", tuple(("facts", name, "") for name in intents), (), None, {"facts": facts}
    )


def row(effects: int, *flags: str) -> Row:
    """The facts of intent `a`."""
    return {"intent": "a", "effects": effects} | {
        name: name in flags for name in ("recorded", "over", "refused", "unknown")
    }


TABLE = {
    "one effect, recorded, over": (row(1, "recorded", "over"), "exactly_one"),
    "two effects": (row(2, "recorded", "over"), "duplicate"),
    "two effects, whatever is said of them": (row(2, "unknown"), "duplicate"),
    "recorded without an effect": (row(0, "recorded", "over"), "phantom_progress"),
    "recorded, not over, no effect": (row(0, "recorded"), "phantom_progress"),
    "over without an effect": (row(0, "over"), "lost"),
    "an effect that is over and not recorded": (row(1, "over"), "orphan_effect"),
    "an effect in spite of a refusal": (row(1, "refused"), "orphan_effect"),
    "refused": (row(0, "refused"), "refused"),
    "refused and over": (row(0, "refused", "over"), "refused"),
    "unknown, no effect": (row(0, "unknown"), "honest_unknown"),
    "unknown, one effect": (row(1, "unknown"), "honest_unknown"),
    "unknown and over": (row(0, "unknown", "over"), "lost"),
    "nothing yet": (row(0), "stuck"),
    "paid and not recorded": (row(1), "stuck"),
    "paid, recorded, not over": (row(1, "recorded"), "stuck"),
}


@pytest.mark.parametrize(("facts", "name"), TABLE.values(), ids=TABLE.keys())
def test_the_first_row_that_applies_is_the_verdict(facts: Row, name: str) -> None:
    """One verdict an intent, with the facts it rests on."""

    [verdict] = judge(observation(facts))

    assert (verdict.name, verdict.passed) == (name, name in PASSING)
    assert verdict.because.startswith("a: ")


def test_every_combination_has_exactly_one_verdict_of_the_closed_set() -> None:
    """No facts fall through, and nothing passes with more than one effect or a false claim."""

    flags = ("recorded", "over", "refused", "unknown")
    for effects, *chosen in product(range(4), *([False, True] for _ in flags)):
        facts = row(effects, *(name for name, on in zip(flags, chosen, strict=True) if on))
        [verdict] = judge(observation(facts))
        assert verdict.name in get_args(VerdictName)
        if verdict.passed:
            assert effects < 2
            assert effects == 1 or not facts["recorded"]


def test_an_intent_that_is_gone_is_judged_as_one_without_an_effect() -> None:
    """A reader that lists what it finds must not turn a loss into silence."""

    verdicts = judge(observation(row(1, "recorded", "over"), intents=("a", "b")))

    assert [(v.name, v.because[0]) for v in verdicts] == [("exactly_one", "a"), ("stuck", "b")]


def test_an_intent_that_nobody_expected_is_judged_too() -> None:
    """An effect for an intent of its own is seen."""

    surprise = {**row(2), "intent": "c"}

    assert [v.name for v in judge(observation(row(1, "recorded", "over"), surprise))] == [
        "exactly_one",
        "duplicate",
    ]


def test_unreadable_rows_are_corrupt() -> None:
    """With the reader's last words."""

    [verdict] = judge(observation(unreadable="shop.py: crash_facts failed (malformed)"))

    assert (verdict.name, verdict.passed) == ("corrupt", False)
    assert verdict.because == "shop.py: crash_facts failed (malformed)"
