"""Verdicts for handlers that know nothing of labkit, from the facts that their own reader finds.

A row of facts is one intent: `effects` (how often it really happened), `recorded` (the workflow has
written down that it happened), `over` (the workflow says that it is finished), and the two honest
stops, `refused` and `unknown`.  Those two rest on the reader's word: labkit cannot ask a ledger that
it does not know whether authority was truly missing, or whether its owner truly cannot tell.
Rows that the reader can no longer read are `corrupt`.
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.observations import PASSING, Observation, Row, Verdict, VerdictName

ABSENT: Row = {"effects": 0, "recorded": False, "over": False, "refused": False, "unknown": False}


def judge(observation: Observation) -> tuple[Verdict, ...]:
    """One verdict an intent; an intent that the reader no longer finds has had no effect."""
    facts = observation.final["facts"]
    if facts["unreadable"]:
        return (Verdict("corrupt", False, facts["unreadable"][0]["because"]),)
    rows = {row["intent"]: row for row in facts["intents"]}
    for _, intent, _ in observation.intents:
        rows.setdefault(intent, {"intent": intent, **ABSENT})
    return tuple(verdict_of(row) for row in rows.values())


def verdict_of(row: Row) -> Verdict:
    """The first verdict of the closed set that applies; `stuck` where none other does."""
    for name, question in QUESTIONS:
        because = question(row)
        if because:
            return Verdict(name, name in PASSING, f"{row['intent']}: {because}")
    raise AssertionError(f"no verdict for {row}")


def _duplicate(row: Row) -> str | None:
    return f"{row['effects']} effects for one intent" if row["effects"] > 1 else None


def _phantom_progress(row: Row) -> str | None:
    return "recorded as done, and there is no effect" if row["recorded"] and not row["effects"] else None


def _lost(row: Row) -> str | None:
    gone = row["over"] and not row["effects"] and not row["refused"]
    return "the workflow is over, and there is no effect" if gone else None


def _orphan_effect(row: Row) -> str | None:
    finished = row["over"] or row["refused"]
    return "the effect stands, and the finished workflow never recorded it" if (
        row["effects"] and finished and not row["recorded"]
    ) else None  # fmt: skip


def _refused(row: Row) -> str | None:
    return "no effect, and the refusal is recorded" if row["refused"] and not row["effects"] else None


def _honest_unknown(row: Row) -> str | None:
    open_ = row["unknown"] and not row["over"] and not row["recorded"]
    return "the workflow says that it does not know" if open_ else None


def _exactly_one(row: Row) -> str | None:
    return "one effect, recorded" if row["effects"] == 1 and row["recorded"] and row["over"] else None


def _stuck(_row: Row) -> str | None:
    return "the workflow is not over, and a resume without faults left it so"


QUESTIONS: tuple[tuple[VerdictName, Callable[[Row], str | None]], ...] = (
    ("duplicate", _duplicate),
    ("phantom_progress", _phantom_progress),
    ("lost", _lost),
    ("orphan_effect", _orphan_effect),
    ("refused", _refused),
    ("honest_unknown", _honest_unknown),
    ("exactly_one", _exactly_one),
    ("stuck", _stuck),
)
