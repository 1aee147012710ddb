"""How a checked prediction looks: the question, what was predicted, read and observed, and why."""

from __future__ import annotations

from html import escape
from typing import Any

from labkit.learning.check import Answered, Checked, Kept
from labkit.ui import theme

RESULT_TYPE = "application/vnd.labkit.result+json"  # what `lab run` reads from a notebook's outputs
Bundle = dict[str, Any]

HEADS = ("", "the question", "predicted", "observed", "the rows that show it")
HEADS_READ = ("", "the question", "predicted", "read", "observed", "the rows that show it")
CONTRACT = ("run", "verdict of the rows", "because")


def bundle(value: Checked) -> Bundle:
    """A prediction beside what was read and observed, as text, HTML and JSON."""
    total = _total(value)
    heads = HEADS_READ if value.read else HEADS
    plain = [
        *(_answer_text(one) for one in value.answers),
        total,
        theme.in_columns(CONTRACT, [(one.run, _kept(one), one.because) for one in value.contract]),
    ]
    html = [
        theme.table(heads, [_answer_html(one) for one in value.answers]),
        theme.paragraph(theme.inline(total)),
        theme.table(CONTRACT, [_kept_html(one) for one in value.contract]),
    ]
    return {"text/plain": "\n\n".join(plain), "text/html": "\n".join(html), RESULT_TYPE: _json(value)}


def _total(value: Checked) -> str:
    total = f"{value.right} of {len(value.answers)} right, at {value.certainty} % certainty."
    if value.read:
        total += f" {len(value.answers) - value.misread} of {len(value.answers)} read right."
    total += f" Your reason: {value.because}"
    if value.earlier:
        total += f" (This was prediction {value.earlier + 1}; the first one stays in the journal.)"
    return total


def _json(value: Checked) -> dict[str, Any]:
    answers = [
        {
            "field": one.field, "predicted": one.predicted, "read": one.read, "observed": one.observed,
            "right": one.right,
        }
        for one in value.answers
    ]  # fmt: skip
    return {
        "kind": "checked", "kata": value.kata, "right": value.right, "asked": len(answers),
        "misread": value.misread if value.read else None, "contract_held": value.passed, "answers": answers,
    }  # fmt: skip


def _remarks(one: Answered) -> list[str]:
    """What is to be said of one field: first what was misread, then what was mispredicted."""
    misread = f"Misread: you read {one.read}, and the rows say {one.observed}. Look at {one.where}."
    return [*([misread] if one.misread else []), *([one.why] if one.why else [])]


def _answer_text(one: Answered) -> str:
    """A few short lines: a terminal has no room for the page's columns."""
    mark = f"{theme.PASS} right" if one.right else f"{theme.FAIL} wrong"
    read = "" if one.read is None else f"read {one.read}{f' {theme.FAIL} misread' if one.misread else ''}, "
    compared = f"predicted {one.predicted}, {read}observed {one.observed}"
    return "\n  ".join((f"{mark}: {one.label}", compared, one.row, *_remarks(one)))


def _answer_html(one: Answered) -> tuple[str, ...]:
    remarks = "".join(theme.note(theme.inline(remark)) for remark in _remarks(one))
    mark = theme.sign(one.right, "right" if one.right else "wrong")
    sign = f" {theme.sign(False, 'misread')}" if one.misread else ""
    read = () if one.read is None else (escape(str(one.read)) + sign,)
    return (
        mark,
        theme.inline(one.label) + remarks,
        str(one.predicted),
        *read,
        f"<b>{one.observed}</b>",
        escape(one.row),
    )


def _kept(one: Kept) -> str:
    return f"{one.verdict}, as expected" if one.passed else f"{one.verdict}, where {one.expected} was due"


def _kept_html(one: Kept) -> tuple[str, ...]:
    return (theme.code(one.run), theme.sign(one.passed, _kept(one)), escape(one.because))
