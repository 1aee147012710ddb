"""Answers and a certainty as a person types them, and what to say of those that cannot be."""

from __future__ import annotations

import re

from labkit.errors import BadPrediction
from labkit.learning.katas import Answer, Field

CERTAINTIES = ("<67", "67-80", ">80")
YES, NO = frozenset({"yes", "y", "true"}), frozenset({"no", "n", "false"})


def cure_of(field: Field) -> str:
    """What to do where an answer was none of this field's kind."""
    return f"give {field.wanted}{', nine digits at most' if field.kind == 'integer' else ''}"


def shown(answer: object) -> str:
    """An answer as a refusal repeats it: never longer than a line."""
    try:
        text = repr(answer)
    except ValueError:  # Python spells no number of more than 4,300 digits
        return "too long"
    return text if len(text) <= 40 else f"{text[:40]}..."


def band_of(text: str) -> str:
    """A certainty as a person types it: one of the bands, or a number of per cent, which falls into one.

    Raises:
        BadPrediction: it is neither.
    """
    word = text.replace(" ", "").removesuffix("%")
    if re.fullmatch(r"[0-9]{1,2}|100", word):
        word = "<67" if int(word) < 67 else "67-80" if int(word) <= 80 else ">80"
    if word not in CERTAINTIES:
        what = f"the certainty is {shown(text)}" if text.strip() else "the certainty was left empty"
        raise BadPrediction(what, f"give one of {', '.join(CERTAINTIES)}, or a number from 0 to 100")
    return word


def from_text(field: Field, text: str) -> Answer:
    """An answer as a person types it: a number, yes or no, or one of the choices in any case.

    A choice's beginning is enough where no other choice begins so.

    Raises:
        BadPrediction: it is no answer of this field's kind.
    """
    word = text.strip()
    if field.kind == "choice":  # the question names the choices in quotes
        word = word.strip("\"'")
    if field.kind == "integer" and re.fullmatch(r"[+-]?[0-9]{1,9}", word):
        return int(word)
    if field.kind == "boolean" and word.casefold() in YES | NO:
        return word.casefold() in YES
    if field.kind == "choice" and word:
        begins = [choice for choice in field.choices if choice.casefold().startswith(word.casefold())]
        whole = [choice for choice in begins if len(choice) == len(word)]
        if found := whole or begins[:1] * (len(begins) == 1):
            return word if word in found else found[0]
    what = f"`{field.name}` is {shown(word)}" if word else f"`{field.name}` was left empty"
    raise BadPrediction(what, "give yes or no" if field.kind == "boolean" else cure_of(field))
