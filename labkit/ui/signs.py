"""A sign for every verdict and outcome: a symbol, a tone and a rank, the same in every picture.

Read without colour: a pass is a small open sign, a failure a capital letter, what could not be judged
a small letter.  The tones are CSS classes; `crashmap.css` gives them their colours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from labkit.observations import PASSING, PointResult, TrialOutcome, VerdictName

Tone = Literal["fail", "unjudged", "pass"]
TONES: tuple[Tone, ...] = get_args(Tone)  # the worst first

SYMBOLS = {
    "exactly_one": "✓",
    "refused": "–",  # noqa: RUF001  a dash: nothing happened, and rightly so
    "honest_unknown": "?",
    "corrupt": "C",
    "over_budget": "B",
    "unauthorised": "U",
    "stale_epoch_accepted": "E",
    "duplicate": "D",
    "phantom_progress": "P",
    "lost": "L",
    "orphan_effect": "O",
    "stuck": "S",
    "not_killed": "n",
    "timed_out": "t",
    "flaky": "f",
    "killed_by_limit": "k",
    "malformed": "m",
    "not_attempted": "a",
    "tampered": "x",
    "infra_error": "i",
}
MEANINGS = {
    "corrupt": "a store is damaged",
    "over_budget": "more was spent than the policy allows",
    "unauthorised": "an effect without valid authority",
    "stale_epoch_accepted": "a stale worker's effect was accepted",
    "duplicate": "it happened more than once",
    "phantom_progress": "recorded as done, and it never happened",
    "lost": "the workflow is over, and it never happened",
    "orphan_effect": "it happened, and nobody recorded it",
    "stuck": "not over, and a resume changes nothing",
    "refused": "nothing happened, and rightly so",
    "honest_unknown": "it says that it cannot know, and nobody can",
    "exactly_one": "it happened once, and is recorded",
    "not_killed": "the fault was not met, so nothing is shown",
    "timed_out": "a run passed its deadline",
    "flaky": "repeats end differently",
    "killed_by_limit": "a limit of the machine ended it",
    "malformed": "there was nothing that could be run",
    "not_attempted": "given up after too many deadlines",
    "tampered": "the evidence was changed",
    "infra_error": "the machine failed, not the handler",
}
TIMES = "\u00d7"  # the sign between a count and what was counted
UNJUDGED = frozenset(get_args(TrialOutcome)) - {"judged"}
RANK = {name: rank for rank, name in enumerate((*get_args(VerdictName), *get_args(TrialOutcome)))}


@dataclass(frozen=True, slots=True)
class Sign:
    """How one way to end looks."""

    name: str
    symbol: str
    tone: Tone
    meaning: str


def sign(name: str, passed: bool | None = None) -> Sign:
    """The sign of a verdict or outcome.  A kata's own check brings `passed`; its sign is ✓ or ✗."""
    if name in UNJUDGED:
        return Sign(name, SYMBOLS[name], "unjudged", MEANINGS[name])
    good = name in PASSING if passed is None else passed
    return Sign(
        name, SYMBOLS.get(name, "✓" if good else "✗"), "pass" if good else "fail", MEANINGS.get(name, "")
    )


def signs_of(result: PointResult) -> tuple[Sign, ...]:
    """A result's signs, the worst first."""
    if result.outcome != "judged":
        return (sign(result.outcome),)
    if not result.verdicts:
        return (Sign("no verdict", "i", "unjudged", "the judge said nothing"),)
    return worst_first({sign(verdict.name, verdict.passed) for verdict in result.verdicts})


def worst_first(found: Iterable[Sign]) -> tuple[Sign, ...]:
    """Failures, then what could not be judged, then passes; within them the order of the closed set."""
    return tuple(sorted(found, key=lambda one: (TONES.index(one.tone), RANK.get(one.name, -1), one.name)))


# Control characters, those that reorder text, and what no file can hold: a handler must not steer what
# shows it.
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """A text in which nothing steers a terminal, an XML reader or the reading direction."""
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\t", "    "))


def shown(value: Any) -> str:
    """A JSON value in one line; text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return visible(" ".join(text.split()))
