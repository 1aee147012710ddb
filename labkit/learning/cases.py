"""One intent of one observation, with the rows that bear on it."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.observations import Observation, Row, Snapshot
from labkit.stores import chain

OVER = frozenset({"OUTCOME_VERIFIED", "ABANDONED"})
CLAIMS = frozenset({"EFFECT_COMMITTED", "OUTCOME_VERIFIED"})


@dataclass(frozen=True, slots=True)
class Case:
    """One intent of one observation, with the rows that bear on it."""

    observation: Observation
    ledger: str
    effects: tuple[Row, ...]
    operation: Row | None
    checkpoints: tuple[Row, ...]
    kind: str
    subject: str

    @property
    def rows(self) -> Snapshot:
        """The final rows of every store."""
        return self.observation.final

    @property
    def policy(self) -> Row:
        """The ledger's policy row."""
        return self.rows[self.ledger]["policy"][0]

    @property
    def state(self) -> str | None:
        """The state that the journal gives the operation, None without a recorded intent."""
        return self.operation["state"] if self.operation else None

    @property
    def claimed(self) -> bool:
        """Whether the journal claims that the effect happened."""
        return bool(self.checkpoints) or self.state in CLAIMS

    @property
    def over(self) -> bool:
        """Whether the workflow says that this step is over.

        Where it never recorded an intent for it, it says so by being over with all that it did record:
        nobody who reads this journal will ever come back for the step.
        """
        if self.operation is None:
            return bool(self.others) and all(self._is_over(row) for row in self.others)
        return bool(self.checkpoints) or self.state in OVER

    @property
    def others(self) -> tuple[Row, ...]:
        """The operations that the journal records for this subject and for other effects."""
        own = (self.ledger, self.kind, self.subject)
        meanings = ((row, meaning_of(row)) for row in self.rows["journal"]["operations"])
        return tuple(
            row for row, meaning in meanings if meaning and meaning[2] == self.subject and meaning != own
        )

    def _is_over(self, operation: Row) -> bool:
        step = (operation["workflow_id"], operation["step"])
        checkpointed = ((row["workflow_id"], row["step"]) for row in self.rows["journal"]["checkpoints"])
        return operation["state"] in OVER or step in checkpointed

    @property
    def ended_ms(self) -> int:
        """The time of the last run: run n happens at n * 1000 ms."""
        return 1000 * max(len(self.observation.runs), 1)


def case_of(observation: Observation, intent: tuple[str, str, str]) -> Case:
    """The rows that bear on one (ledger, kind, subject).

    Where several operations are after the same effect, the one that has it speaks for them.
    """
    ledger, kind, subject = intent
    final = observation.final
    effects = tuple(
        row for row in final[ledger]["effects"] if row["kind"] == kind and row["subject"] == subject
    )
    operations = [row for row in final["journal"]["operations"] if meaning_of(row) == intent]
    paid = {row["operation_id"] for row in effects}
    operations.sort(key=lambda row: row["operation_id"] not in paid)  # stable: else the first recorded
    steps = {(row["workflow_id"], row["step"]) for row in operations}
    checkpoints = tuple(
        row for row in final["journal"]["checkpoints"] if (row["workflow_id"], row["step"]) in steps
    )
    operation = operations[0] if operations else None
    return Case(observation, ledger, effects, operation, checkpoints, kind, subject)


def meaning_of(operation: Row) -> tuple[str, str, str] | None:
    """The intent that an operation's action spells, None where it spells none."""
    try:
        action = chain.json_of(operation["action"])
        return operation["ledger"], action["kind"], action["subject"]
    except (ValueError, TypeError, KeyError):
        return None
