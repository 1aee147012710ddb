"""What an observation tells, as a row of marks in the order of time: the picture before it is drawn.

Pure.  Everything comes from the observation: a run's own rows carry its clock (run n happens at
`n * 1000` ms), and a boundary is shown only where the run was stopped at it or its rows prove that
it was passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from labkit.boundaries import Boundary
from labkit.observations import Observation, ProcessRun, Row, Snapshot
from labkit.values import NO_CURRENCY

MarkKind = Literal[
    "start", "boundary", "ahead", "kill", "exit", "effect", "undone", "refused", "checkpoint", "between"
]
RUN_MS = 1000  # run n happens at n * 1000 ms on the world's own clock
CALLED_CENTS = ("AUD", "CAD", "EUR", "NZD", "USD")  # what a hundredth is called; elsewhere it is a minor unit
WORKER = "worker"
JOURNAL = "journal"
HOME: dict[MarkKind, Boundary] = {  # where a fact becomes durable
    "effect": Boundary.EFFECT_COMMITTED, "checkpoint": Boundary.CHECKPOINTED
}  # fmt: skip
BETWEEN = {"lose_journal": JOURNAL, "raise_policy_version": JOURNAL}  # everything else is the provider's


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that happened: in which column, in whose lane.  `number` is a boundary's.

    A boundary that the run did not live to reach is `ahead`.
    """

    slot: float
    lane: str
    kind: MarkKind
    label: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A look at all stores at one moment: rows counted by lane."""

    slot: float
    label: str
    counts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Story:
    """A whole timeline.  `lanes` run from top to bottom, `slots` from left to right.

    `ticks` are the columns of the first run's crash points, where the story numbers them all.
    """

    lanes: tuple[str, ...]
    marks: tuple[Mark, ...]
    cuts: tuple[Cut, ...]
    boundaries: tuple[Boundary, ...]
    slots: float
    ticks: tuple[float, ...] = ()

    @property
    def ledgers(self) -> tuple[str, ...]:
        """The lanes that are a provider's."""
        return tuple(lane for lane in self.lanes if lane not in (WORKER, JOURNAL))


def tell(observation: Observation, boundaries: tuple[Boundary, ...]) -> Story:
    """The story of one trial, with the numbered boundaries of its kata."""
    ledgers = tuple(name for name in observation.final if "effects" in observation.final[name])
    slot, marks, cuts = 0.0, list[Mark](), list[Cut]()
    for number, run in enumerate(observation.runs, 1):
        rows = observation.interruption if number == 1 and observation.interruption else observation.final
        told = steps(run, rows, number, ledgers, boundaries)
        marks += moved(told, slot)
        slot += 1 + max(mark.slot for mark in told)
        if number == 1 and len(observation.runs) > 1 and observation.interruption:
            cuts.append(Cut(slot, "at the interruption", counts(observation.interruption, ledgers)))
            for name in observation.interventions:
                slot += 1
                lane = BETWEEN.get(name, ledgers[0])
                marks.append(Mark(slot, lane, "between", name.replace("_", " ")))
            slot += 1
    cuts.append(Cut(slot, "at the end", counts(observation.final, ledgers)))
    return Story((*ledgers, WORKER, JOURNAL), tuple(marks), tuple(cuts), boundaries, slot + 1)


def moved(marks: Iterable[Mark], by: float) -> list[Mark]:
    """The same marks, so many columns further right."""
    return [replace(mark, slot=mark.slot + by) for mark in marks]


def steps(
    run: ProcessRun, rows: Snapshot, number: int, ledgers: tuple[str, ...], boundaries: tuple[Boundary, ...]
) -> list[Mark]:
    """The marks of one run, in columns counted from its own start."""
    happened = facts_of_run(rows, ledgers, number * RUN_MS)
    marks = [Mark(0, WORKER, "start", "first run" if number == 1 else f"{run.role}, new process")]
    homes = _homes(happened, boundaries) if number == 1 else [0] * len(happened)
    last = _last_passed(run, happened, homes, boundaries) if number == 1 else 0
    for index, boundary in enumerate(boundaries[:last], 1):
        marks.append(Mark(index, WORKER, "boundary", boundary.value, index))
        if index == last and boundary == Boundary.EFFECT_INSERTED == run.boundary:
            turn = min(boundaries[:last].count(boundary), len(ledgers))  # the n-th effect is the n-th owner's
            marks.append(Mark(index, ledgers[turn - 1], "undone", "inserted, never committed"))
        marks += [Mark(index, *fact) for fact, home in zip(happened, homes, strict=True) if home == index]
    slot, is_wide = last, False
    for fact, home in zip(happened, homes, strict=True):
        if not home:
            was_wide, is_wide = is_wide, fact[1] == "refused"  # a refusal's label is wider than a column
            slot += 2 if slot > last and (was_wide or is_wide) else 1
            marks.append(Mark(slot, *fact))
    return [*marks, end(run, max(slot + 1, 2))]  # two columns at least, so that labels have room


def end(run: ProcessRun, slot: float) -> Mark:
    """The last mark of a run: killed, or its exit code with what it said."""
    if run.returncode < 0 or run.returncode == 86:
        how = "SIGKILL" if run.returncode == -9 else f"exit code {run.returncode}"
        return Mark(slot, WORKER, "kill", how)
    said = f", said {run.result!r}".replace("'", '"') if run.result is not None else ""
    return Mark(slot, WORKER, "exit", f"exit code {run.returncode}{said}")


Fact = tuple[str, MarkKind, str]


def facts_of_run(rows: Snapshot, ledgers: tuple[str, ...], at_ms: int) -> list[Fact]:
    """What one run left in the stores, told by its clock: effects and refusals as asked for, checkpoints."""
    facts: list[Fact] = []
    for ledger in ledgers:
        effects = iter(_at(rows[ledger]["effects"], "committed_at_ms", at_ms))
        for submit in _at(rows[ledger]["invocations"], "at_ms", at_ms):
            if submit["status"] == "committed":
                facts += [(ledger, "effect", effect_label(row)) for row in islice(effects, 1)]
            elif submit["status"] != "already_committed":
                facts.append((ledger, "refused", f"refused: {submit['status']}"))
        facts += [(ledger, "effect", effect_label(row)) for row in effects]
    checkpoints = _at(rows[JOURNAL]["checkpoints"], "at_ms", at_ms)
    return facts + [(JOURNAL, "checkpoint", f"checkpoint: {row['step']}") for row in checkpoints]


def effect_label(row: Row) -> str:
    """One effect in a few words; its key on a line of its own."""
    currency = row["currency"]
    unit = "cents" if currency in CALLED_CENTS else "minor units"
    money = "" if currency == NO_CURRENCY else f" {row['amount_minor']:,} {currency} {unit}"
    return f"{row['kind']}{money}\n{row['operation_id'] or 'no key'}"


def _at(rows: Iterable[Row], column: str, at_ms: int) -> list[Row]:
    return [row for row in rows if row[column] == at_ms]


def _homes(happened: list[Fact], boundaries: tuple[Boundary, ...]) -> list[int]:
    """For each fact the number of the boundary at which it became durable, 0 where the story numbers none.

    A flow with two effects passes the same boundary twice: its first effect is at home at the first one.
    """
    homes: list[int] = []
    met: dict[MarkKind, int] = {}
    for _, kind, _ in happened:
        numbers = [index for index, boundary in enumerate(boundaries, 1) if boundary == HOME.get(kind)]
        homes.append(numbers[min(met.get(kind, 0), len(numbers) - 1)] if numbers else 0)
        met[kind] = met.get(kind, 0) + 1
    return homes


def _last_passed(
    run: ProcessRun, happened: list[Fact], homes: list[int], boundaries: tuple[Boundary, ...]
) -> int:
    """The number of the last boundary that is proven: by rows, or by the stop itself, which came after them."""
    proven = max(homes, default=0)
    if any(kind == "refused" for _, kind, _ in happened) and Boundary.BEFORE_EFFECT in boundaries:
        proven = max(proven, boundaries.index(Boundary.BEFORE_EFFECT) + 1)
    stops = (index for index, boundary in enumerate(boundaries, 1) if boundary == run.boundary)
    return next((index for index in stops if index >= proven), proven)


def counts(rows: Snapshot, ledgers: tuple[str, ...]) -> dict[str, str]:
    """What a look at all stores finds, by lane."""
    found = {name: _number(len(rows[name]["effects"]), "effect") for name in ledgers}
    return found | {JOURNAL: _number(len(rows[JOURNAL]["checkpoints"]), "checkpoint")}


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
