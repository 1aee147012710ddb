"""What an observation tells, as a row of marks in the order of time: the picture before it is drawn.

Pure.  Everything comes from the observation: a run's own rows carry its clock (run n happens at
`n * 1000` ms), and a boundary is shown only where the run was stopped at it or its rows prove that
it was passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from labkit.boundaries import Boundary
from labkit.observations import Observation, ProcessRun, Snapshot
from labkit.ui import story_facts
from labkit.ui.story_facts import JOURNAL, RUN_MS, Fact, MarkKind, facts_of_run

WORKER = "worker"
SECOND = "second worker"  # the rival: another process, that works on another workflow meanwhile
HOME: dict[MarkKind, Boundary] = {  # where a fact becomes durable
    "effect": Boundary.EFFECT_COMMITTED, "checkpoint": Boundary.CHECKPOINTED
}  # fmt: skip
BETWEEN = {"lose_journal": JOURNAL, "raise_policy_version": JOURNAL}  # everything else is the provider's


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that happened: in which column, in whose lane.  `number` is a boundary's.

    A boundary that the run did not live to reach is `ahead`.  `by` is the process whose doing a fact is.
    """

    slot: float
    lane: str
    kind: MarkKind
    label: str
    number: int = 0
    by: str = WORKER


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
        return tuple(lane for lane in self.lanes if lane not in (WORKER, SECOND, JOURNAL))


def tell(observation: Observation, boundaries: tuple[Boundary, ...]) -> Story:
    """The story of one trial, with the numbered boundaries of its kata."""
    ledgers = tuple(name for name in observation.final if "effects" in observation.final[name])
    slot, marks, cuts = 0.0, list[Mark](), list[Cut]()
    for number in range(1, len(observation.runs) + 1):
        told = run_told(observation, number, ledgers, boundaries)
        marks += moved(told, slot)
        slot += 1 + max(mark.slot for mark in told)
        if number == 1 and len(observation.runs) > 1 and observation.interruption:
            cuts.append(
                Cut(
                    slot,
                    first_look(_is_stopped(observation.runs[0])),
                    counts(observation.interruption, ledgers),
                )
            )
            for name in observation.interventions:
                slot += 1
                lane = BETWEEN.get(name, ledgers[0])
                marks.append(Mark(slot, lane, "between", name.replace("_", " ")))
            slot += 1
    cuts.append(Cut(slot, "at the end", counts(observation.final, ledgers)))
    return Story(lanes_of(observation, ledgers), tuple(marks), tuple(cuts), boundaries, slot + 1)


def first_look(killed: bool) -> str:
    """What the look at the stores between the first run and the next is called."""
    return "at the kill" if killed else "after the first run"


def lanes_of(observation: Observation, ledgers: tuple[str, ...]) -> tuple[str, ...]:
    """Whoever takes part, from top to bottom."""
    workers = (WORKER, SECOND) if observation.rival else (WORKER,)
    return (*ledgers, *workers, JOURNAL)


def run_told(
    observation: Observation, number: int, ledgers: tuple[str, ...], boundaries: tuple[Boundary, ...]
) -> list[Mark]:
    """The marks of run `number`, and of the second worker beside it, in columns counted from their start."""
    run, rows = observation.runs[number - 1], observation.final
    if number == 1 and observation.interruption:
        rows = observation.interruption
    if not observation.rival:
        return steps(run, rows, number, ledgers, boundaries)
    own, theirs = story_facts.told_apart(rows, ledgers, observation.rival)
    marks = steps(run, own, number, ledgers, boundaries)
    found = [*facts_of_run(theirs, ledgers, number * RUN_MS), *story_facts.refusals(theirs, number * RUN_MS)]
    if number == 1 or (number > 2 and not found):  # it begins with the first resume
        return marks
    is_first = story_facts.precede(theirs, own, ledgers, number * RUN_MS)
    return _beside(marks, found, is_first, observation.rival)


def _beside(marks: list[Mark], found: list[Fact], is_first: bool, workflow: str) -> list[Mark]:
    """A run's marks with the second worker's among them: what it did before the run's own, or after it."""
    start, *own, end_ = marks
    began = 1.0 if is_first else max((mark.slot for mark in own), default=0.0) + 1
    theirs = [Mark(began + index, *fact, by=SECOND) for index, fact in enumerate(found)]
    ended = began + max(len(found), 1)
    if is_first:
        own = moved(own, ended - 0.5)
    last = max(ended + 1, *(mark.slot + 1 for mark in own), end_.slot)
    return [
        start, Mark(0, SECOND, "start", f"on {workflow}, new process", by=SECOND), *theirs,
        Mark(ended, SECOND, "exit", "", by=SECOND), *own, replace(end_, slot=last),
    ]  # fmt: skip


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
    if _is_stopped(run):
        how = "SIGKILL" if run.returncode == -9 else f"exit code {run.returncode}"
        return Mark(slot, WORKER, "kill", how)
    said = f", said {run.result!r}".replace("'", '"') if run.result is not None else ""
    return Mark(slot, WORKER, "exit", f"exit code {run.returncode}{said}")


def _is_stopped(run: ProcessRun) -> bool:
    """Whether it ended where the trial wanted it to: by a signal, or by leaving with 86."""
    return run.returncode < 0 or run.returncode == 86


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
