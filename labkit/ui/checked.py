"""How a checked prediction looks: the question, what was predicted, what the rows say, and why."""

from __future__ import annotations

from html import escape
from typing import Any

from labkit.learning.check import Answered, Checked, Kept
from labkit.ui import theme

RESULT_TYPE = "application/vnd.labkit.result+json"  # what `lab run` reads from a notebook's outputs
Bundle = dict[str, Any]

HEADS = ("", "the question", "predicted", "observed", "the rows that show it")
CONTRACT = ("run", "verdict of the rows", "because")


def bundle(value: Checked) -> Bundle:
    """A prediction beside what was observed, as text, HTML and JSON."""
    total = _total(value)
    plain = [theme.in_columns(HEADS, [_answer_text(one) for one in value.answers])]
    plain += [f"{one.label}\n  {one.why}" for one in value.answers if one.why]
    plain += [
        total,
        theme.in_columns(CONTRACT, [(one.run, _kept(one), one.because) for one in value.contract]),
    ]
    html = [
        theme.table(HEADS, [_answer_html(one) for one in value.answers]),
        theme.paragraph(theme.inline(total)),
        theme.table(CONTRACT, [_kept_html(one) for one in value.contract]),
    ]
    return {"text/plain": "\n\n".join(plain), "text/html": "\n".join(html), RESULT_TYPE: _json(value)}


def _total(value: Checked) -> str:
    total = f"{value.right} of {len(value.answers)} right, at {value.certainty} % certainty."
    total += f" Your reason: {value.because}"
    if value.earlier:
        total += f" (This was prediction {value.earlier + 1}; the first one stays in the journal.)"
    return total


def _json(value: Checked) -> dict[str, Any]:
    answers = [
        {"field": one.field, "predicted": one.predicted, "observed": one.observed, "right": one.right}
        for one in value.answers
    ]
    return {
        "kind": "checked", "kata": value.kata, "right": value.right, "asked": len(answers),
        "contract_held": value.passed, "answers": answers,
    }  # fmt: skip


def _answer_text(one: Answered) -> tuple[str, ...]:
    mark = f"{theme.PASS} right" if one.right else f"{theme.FAIL} wrong"
    return (mark, one.label, str(one.predicted), str(one.observed), one.row)


def _answer_html(one: Answered) -> tuple[str, ...]:
    why = theme.note(theme.inline(one.why)) if one.why else ""
    mark = theme.sign(one.right, "right" if one.right else "wrong")
    return (
        mark,
        theme.inline(one.label) + why,
        str(one.predicted),
        f"<b>{one.observed}</b>",
        escape(one.row),
    )


def _kept(one: Kept) -> str:
    return f"{one.verdict}, as expected" if one.passed else f"{one.verdict}, where {one.expected} was due"


def _kept_html(one: Kept) -> tuple[str, ...]:
    return (theme.code(one.run), theme.sign(one.passed, _kept(one)), escape(one.because))
