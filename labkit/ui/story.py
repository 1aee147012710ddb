"""What an observation tells, as a row of marks in the order of time: the picture before it is drawn.

Pure.  Everything comes from the observation: a run's own rows carry its clock (run n happens at
`n * 1000` ms), and a boundary is shown only where the run was stopped at it or its rows prove that
it was passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from labkit.boundaries import Boundary
from labkit.observations import Observation, ProcessRun, Row, Snapshot

MarkKind = Literal[
    "start", "boundary", "kill", "exit", "effect", "undone", "refused", "checkpoint", "between"
]
WORKER = "worker"
JOURNAL = "journal"
BETWEEN = {"lose_journal": JOURNAL, "raise_policy_version": JOURNAL}  # everything else is the provider's


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that happened: in which column, in whose lane.  `number` is a boundary's."""

    slot: int
    lane: str
    kind: MarkKind
    label: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A look at all stores at one moment: rows counted by lane."""

    slot: int
    label: str
    counts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Story:
    """A whole timeline.  `lanes` run from top to bottom, `slots` from left to right."""

    lanes: tuple[str, ...]
    marks: tuple[Mark, ...]
    cuts: tuple[Cut, ...]
    boundaries: tuple[Boundary, ...]
    slots: int

    @property
    def ledgers(self) -> tuple[str, ...]:
        """The lanes that are a provider's."""
        return tuple(lane for lane in self.lanes if lane not in (WORKER, JOURNAL))


def tell(observation: Observation, boundaries: tuple[Boundary, ...]) -> Story:
    """The story of one trial, with the numbered boundaries of its kata."""
    ledgers = tuple(name for name in observation.final if "effects" in observation.final[name])
    slot, marks, cuts = 0, list[Mark](), list[Cut]()
    for number, run in enumerate(observation.runs, 1):
        rows = observation.interruption if number == 1 and observation.interruption else observation.final
        steps = _steps(run, rows, number, ledgers, boundaries)
        marks += [Mark(slot + mark.slot, mark.lane, mark.kind, mark.label, mark.number) for mark in steps]
        slot += 1 + max(mark.slot for mark in steps)
        if number == 1 and len(observation.runs) > 1 and observation.interruption:
            cuts.append(Cut(slot, "at the interruption", _counts(observation.interruption, ledgers)))
            for name in observation.interventions:
                slot += 1
                lane = BETWEEN.get(name, ledgers[0])
                marks.append(Mark(slot, lane, "between", name.replace("_", " ")))
            slot += 1
    cuts.append(Cut(slot, "at the end", _counts(observation.final, ledgers)))
    return Story((*ledgers, WORKER, JOURNAL), tuple(marks), tuple(cuts), boundaries, slot + 1)


def _steps(
    run: ProcessRun, rows: Snapshot, number: int, ledgers: tuple[str, ...], boundaries: tuple[Boundary, ...]
) -> list[Mark]:
    """The marks of one run, in columns counted from its own start."""
    happened = _rows_of_run(rows, ledgers, number * 1000)
    marks = [Mark(0, WORKER, "start", "first run" if number == 1 else f"{run.role}, new process")]
    slot = 0
    shown = _passed(run, happened, boundaries) if number == 1 else ()
    for index, boundary in enumerate(shown, 1):
        slot += 1
        marks.append(Mark(slot, WORKER, "boundary", boundary.value, index))
        if boundary == Boundary.EFFECT_INSERTED and run.boundary == boundary:
            marks.append(Mark(slot, ledgers[0], "undone", "inserted, never committed"))
        marks += [Mark(slot, lane, kind, label) for lane, kind, label in happened if _home(kind) == boundary]
    for lane, kind, label in happened:
        if _home(kind) not in shown:
            slot += 1
            marks.append(Mark(slot, lane, kind, label))
    return [*marks, _end(run, max(slot + 1, 2))]  # two columns at least, so that labels have room


def _end(run: ProcessRun, slot: int) -> Mark:
    if run.returncode < 0 or run.returncode == 86:
        how = "SIGKILL" if run.returncode == -9 else f"exit code {run.returncode}"
        return Mark(slot, WORKER, "kill", how)
    said = f", said {run.result!r}".replace("'", '"') if run.result is not None else ""
    return Mark(slot, WORKER, "exit", f"exit code {run.returncode}{said}")


Fact = tuple[str, MarkKind, str]


def _rows_of_run(rows: Snapshot, ledgers: tuple[str, ...], at_ms: int) -> list[Fact]:
    """What one run left in the stores, told by its clock: refusals, effects, checkpoints."""
    facts: list[Fact] = []
    for ledger in ledgers:
        submits = _at(rows[ledger]["invocations"], "at_ms", at_ms)
        refused = [
            row["status"] for row in submits if row["status"] not in ("committed", "already_committed")
        ]
        facts += [(ledger, "refused", f"refused: {status}") for status in refused]
        facts += [
            (ledger, "effect", effect_label(row))
            for row in _at(rows[ledger]["effects"], "committed_at_ms", at_ms)
        ]
    checkpoints = _at(rows[JOURNAL]["checkpoints"], "at_ms", at_ms)
    return facts + [(JOURNAL, "checkpoint", f"checkpoint: {row['step']}") for row in checkpoints]


def effect_label(row: Row) -> str:
    """One effect in a few words; its key on a line of its own."""
    return f"{row['kind']} {row['amount_minor']:,} {row['currency']}\n{row['operation_id'] or 'no key'}"


def _at(rows: Iterable[Row], column: str, at_ms: int) -> list[Row]:
    return [row for row in rows if row[column] == at_ms]


def _home(kind: MarkKind) -> Boundary | None:
    """The boundary at which a fact becomes durable."""
    homes = {"effect": Boundary.EFFECT_COMMITTED, "checkpoint": Boundary.CHECKPOINTED}
    return homes.get(kind)


def _passed(run: ProcessRun, happened: list[Fact], boundaries: tuple[Boundary, ...]) -> tuple[Boundary, ...]:
    """The boundaries up to the last one that is proven: by the stop itself, or by rows."""
    proven = {_home(kind) for _, kind, _ in happened} | {run.boundary}
    if any(kind == "refused" for _, kind, _ in happened):
        proven.add(Boundary.BEFORE_EFFECT)
    last = max((index for index, boundary in enumerate(boundaries, 1) if boundary in proven), default=0)
    return boundaries[:last]


def _counts(rows: Snapshot, ledgers: tuple[str, ...]) -> dict[str, str]:
    counts = {name: _number(len(rows[name]["effects"]), "effect") for name in ledgers}
    return counts | {JOURNAL: _number(len(rows[JOURNAL]["checkpoints"]), "checkpoint")}


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
