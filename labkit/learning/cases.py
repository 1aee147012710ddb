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
        """Whether the workflow says that this step is over."""
        return bool(self.checkpoints) or self.state in OVER


def case_of(observation: Observation, intent: tuple[str, str, str]) -> Case:
    """The rows that bear on one (ledger, kind, subject)."""
    ledger, kind, subject = intent
    final = observation.final
    effects = tuple(
        row for row in final[ledger]["effects"] if row["kind"] == kind and row["subject"] == subject
    )
    operations = [
        row for row in final["journal"]["operations"]
        if row["ledger"] == ledger and chain.json_of(row["action"])["kind"] == kind
        and chain.json_of(row["action"])["subject"] == subject
    ]  # fmt: skip
    operation = operations[0] if operations else None
    steps = {(row["workflow_id"], row["step"]) for row in operations}
    checkpoints = tuple(
        row for row in final["journal"]["checkpoints"] if (row["workflow_id"], row["step"]) in steps
    )
    return Case(observation, ledger, effects, operation, checkpoints, kind, subject)
