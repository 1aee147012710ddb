"""A kata's questions asked in a terminal, one line each, until every one has an answer of its kind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from labkit.errors import BadOption, BadPrediction
from labkit.learning.katas import Kata
from labkit.learning.predict import reason
from labkit.learning.typed import CERTAINTIES, band_of, from_text
from labkit.ui.output import complain, print_line

NOTHING = "the answers end here, and nothing was kept"


def given_by(kata: Kata, pairs: list[str]) -> dict[str, Any]:
    """Answers from options, each FIELD=ANSWER.

    Raises:
        BadOption: one has no `=`, or a field comes twice.
        UnknownName: the kata does not ask for it.
        BadPrediction: an answer is none of its field's kind.
    """
    answers: dict[str, Any] = {}
    for pair in pairs:
        field, equals, text = pair.partition("=")
        if not equals or field in answers:
            raise BadOption(f"--set {pair}", "give FIELD=ANSWER, each field once")
        answers[field] = from_text(kata.field(field), text)
    return answers


def ask_fields(kata: Kata, answers: dict[str, Any]) -> None:
    """Ask for each field that is not in `answers` yet, in the kata's order, and put it there.

    Raises:
        BadPrediction: the input ends.
    """
    asked = [field for field in kata.fields if field.name not in answers]
    for number, field in enumerate(asked, 1):
        wanted = field.wanted.replace("True or False", "yes or no")
        prompt = f"{number} of {len(asked)}: {field.label}\n  ({wanted}) "
        answers[field.name] = until_right(prompt, partial(from_text, field))


def ask_how_sure_and_why(answers: dict[str, Any]) -> None:
    """Ask for certainty and reason where `answers` lacks them.  Raises: BadPrediction: the input ends."""
    if "certainty" not in answers:
        prompt = f"How sure are you of all of it, in per cent?\n  ({', '.join(CERTAINTIES)}) "
        answers["certainty"] = until_right(prompt, band_of)
    if "because" not in answers:
        answers["because"] = until_right("Why? In a sentence; a wrong one costs nothing.\n  ", reason)


def until_right(prompt: str, read: Callable[[str], Any]) -> Any:
    """Ask until `read` takes the line.

    Raises:
        BadPrediction: the input ends, also within a line, or is not UTF-8.
    """
    while True:
        print(prompt, end="", flush=True)
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError:
            raise BadPrediction("the answer is not UTF-8", "type it again") from None
        if not line.endswith("\n"):  # what was typed before the end may be half of what was meant
            print_line("")
            raise BadPrediction(NOTHING, "answer all, or give --set")
        try:
            return read(line.strip())
        except BadPrediction as error:
            complain(str(error))
