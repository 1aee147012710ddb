"""Predicted beside read and observed: the row that shows it, and the misconception behind a wrong answer.

No answer key is needed.  What is true is what the run recorded; a kata's `checks.py` says where to
look, with the readers below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from labkit.errors import BadKata
from labkit.learning.katas import Answer, Kata
from labkit.learning.predict import Prediction
from labkit.observations import Observation, Row, Snapshot

Runs = Mapping[str, Observation]


@dataclass(frozen=True, slots=True)
class Observed:
    """What the rows say of one field, and which rows say it."""

    value: Answer
    row: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One field of a prediction beside what was observed.

    `why` is empty where it was right, `read` is None where nobody read the rows.
    """

    field: str
    label: str
    predicted: Answer
    observed: Answer
    row: str
    why: str
    read: Answer | None = None

    @property
    def right(self) -> bool:
        """Whether the prediction came true."""
        return self.predicted == self.observed

    @property
    def misread(self) -> bool:
        """Whether somebody read something else than the rows have."""
        return self.read is not None and self.read != self.observed

    @property
    def where(self) -> str:
        """The tables or processes that `row` tells of, without what they hold."""
        return " and ".join(re.findall(r"(?:^|; )([^:;=]+): ", self.row)) or self.row


@dataclass(frozen=True, slots=True)
class Kept:
    """The contract of one run: the verdict that its rows had to give, and the one they gave."""

    run: str
    expected: str
    verdict: str
    because: str

    @property
    def passed(self) -> bool:
        """Whether the rows gave what the contract says."""
        return self.expected == self.verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """A prediction checked: every field, every run."""

    kata: str
    certainty: str
    because: str
    answers: tuple[Answered, ...]
    contract: tuple[Kept, ...] = ()
    earlier: int = 0  # predictions that were sealed for this kata before this one

    @property
    def right(self) -> int:
        """How many fields were predicted right."""
        return sum(one.right for one in self.answers)

    @property
    def read(self) -> bool:
        """Whether somebody read the rows."""
        return all(one.read is not None for one in self.answers)

    @property
    def misread(self) -> int:
        """How many fields were read otherwise than the rows have them."""
        return sum(one.misread for one in self.answers)

    @property
    def passed(self) -> bool:
        """Whether the contract held.  A wrong prediction fails nothing."""
        return all(one.passed for one in self.contract)


def compare(
    kata: Kata, prediction: Prediction, observed: Mapping[str, Observed], contract: tuple[Kept, ...] = ()
) -> Checked:
    """Put a prediction beside what was observed.

    Raises:
        BadKata: `checks.py` observes other fields than `kata.toml` asks for, or another kind of answer.
    """
    asked = {one.name for one in kata.fields}
    if odd := sorted(asked ^ set(observed)):
        raise BadKata(f"{kata.slug}/checks.py and kata.toml differ in field `{odd[0]}`", "name it in both")
    return Checked(
        kata.slug,
        prediction.certainty,
        prediction.because,
        tuple(
            _answered(kata, one.name, prediction.answers[one.name], observed[one.name]) for one in kata.fields
        ),
        contract,
    )


def _answered(kata: Kata, name: str, predicted: Answer, observed: Observed) -> Answered:
    asked = kata.field(name)
    if not asked.accepts(observed.value):
        raise BadKata(
            f"{kata.slug}/checks.py observes `{name}` as {observed.value!r}", f"give {asked.wanted}"
        )
    why = "" if predicted == observed.value else kata.misconception(name, predicted)
    return Answered(name, asked.label, predicted, observed.value, observed.row, why)


def with_reading(checked: Checked, read: Mapping[str, Answer]) -> Checked:
    """The same, with what the learner read from the rows, by field."""
    return replace(checked, answers=tuple(replace(one, read=read[one.field]) for one in checked.answers))


def contract_of(expected: Mapping[str, str], runs: Runs) -> tuple[Kept, ...]:
    """The contract of each run that has one, from the verdicts that its judge gave.

    A run that could not be judged gives its outcome instead, which no contract expects.
    """
    return tuple(_kept(name, expected[name], runs[name]) for name in expected)


def _kept(name: str, expected: str, run: Observation) -> Kept:
    if run.outcome != "judged":
        return Kept(name, expected, run.outcome, run.explanation)
    return Kept(
        name,
        expected,
        ", ".join(verdict.name for verdict in run.verdicts),
        "; ".join(verdict.because for verdict in run.verdicts),
    )


# --- readers for checks.py ------------------------------------------------------------------


def count(snapshot: Snapshot | None, store: str, table: str, show: tuple[str, ...]) -> Observed:
    """How many rows a table has, naming each by the columns `show`."""
    found = [] if snapshot is None else snapshot[store][table]
    rows = "; ".join(describe(row, show) for row in found) or "no row"
    return Observed(len(found), f"{store}.{table}: {rows}")


def describe(row: Row, columns: tuple[str, ...]) -> str:
    """The named columns of one row, as `column=value`."""
    return ", ".join(f"{column}={row[column]}" for column in columns)


def exit_code(run: Observation, number: int) -> Observed:
    """How process `number` of a run ended, counted from 1; negative for a signal."""
    process = run.runs[number - 1]
    return Observed(process.returncode, f"process {number} ({process.role}): exit code {process.returncode}")
