"""What a trial leaves behind: processes that really ended, rows that really stand, and a verdict.

A snapshot is plain JSON: `{store: {table: [row, ...]}}`, so that it can be kept in a packet and
judged again years later by other code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Snapshot = dict[str, Tables]

VerdictName = Literal[
    "corrupt",
    "over_budget",
    "unauthorised",
    "stale_epoch_accepted",
    "duplicate",
    "phantom_progress",
    "lost",
    "orphan_effect",
    "stuck",
    "refused",
    "honest_unknown",
    "exactly_one",
]
PASSING = frozenset({"refused", "honest_unknown", "exactly_one"})

TrialOutcome = Literal[
    "judged",
    "not_killed",
    "timed_out",
    "flaky",
    "killed_by_limit",
    "malformed",
    "not_attempted",
    "tampered",
    "infra_error",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement, with the sentence that names the rows it rests on."""

    name: str
    passed: bool
    because: str


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """One child, from start to reaped.  `returncode` is negative for a signal, as in subprocess.

    `boundary` is where it was stopped, None where it ran to its end.  `result` is what the worker
    returned (what it *promised*), None where it did not live to return.
    """

    role: str
    command: str
    pid: int
    returncode: int
    boundary: str | None
    result: Any
    stdout_tail: str
    stderr_tail: str
    elapsed_ms: float
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """One trial whole: its processes in order, and the rows at the kill (`interruption`) and at the end.

    `intents` names what should happen exactly once: (ledger, kind, subject) triples.
    `outcome` is `judged` where the rows can be judged; else what became of the trial.  `rival` is the
    workflow that a second worker was at, beside each run from the second on; None without one.
    """

    scenario: str
    fault: str
    intents: tuple[tuple[str, str, str], ...]
    runs: tuple[ProcessRun, ...]
    interruption: Snapshot | None
    final: Snapshot
    outcome: TrialOutcome = "judged"
    explanation: str = ""
    interventions: tuple[str, ...] = ()
    folder: str = ""
    verdicts: tuple[Verdict, ...] = field(default=())
    rival: str | None = None


PointKind = Literal["boundary", "statement", "line", "reply"]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """One place where a run can die: its number in the run's stream, and the handler's line.

    `label` reads `4 COMMIT at line 12`, `7 line 13` or `9 effect.committed at line 12`.
    `line` is 0 where no line of the handler's own file was running.
    """

    number: int
    kind: PointKind
    label: str
    line: int


@dataclass(frozen=True, slots=True)
class PointResult:
    """What one crash schedule cost, in three columns, with the verdict that the rows give.

    `schedule` holds the crash points in order: one at depth 1, two at depth 2 (first run, then resume).
    `promised` is what each run returned (None: it died), `recorded` the journal's checkpoint count and
    state by step, `happened` the number of effects by intent.  `same_bytes_as` is another
    schedule, by its points' numbers: as many crashes of this one have left the same bytes, and what
    followed on them was carried out there only.  Empty where this one was carried out by itself.
    `is_killed` is false where not even the crash was: the same worker was killed at this point in another
    world, which left what crashes before and after it have left there and here.  How a result came about
    is no part of it: results that differ in that alone are equal.
    """

    schedule: tuple[CrashPoint, ...]
    outcome: TrialOutcome
    verdicts: tuple[Verdict, ...]
    promised: tuple[Any, ...]
    recorded: dict[str, Any]
    happened: dict[str, int]
    command: str
    explanation: str = ""
    same_bytes_as: tuple[int, ...] = field(default=(), compare=False)
    is_killed: bool = field(default=True, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the trial was judged and every verdict passes."""
        return (
            self.outcome == "judged"
            and bool(self.verdicts)
            and all(verdict.passed for verdict in self.verdicts)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The verdicts' names, or the outcome where nothing could be judged."""
        return (
            tuple(verdict.name for verdict in self.verdicts) if self.outcome == "judged" else (self.outcome,)
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """One schedule carried out by itself: what it cost, and all that was seen of it.

    `points` is the stream of the fault-free first run, `source` the text of the first worker's file.
    `observation` has the rows after the first run and after the resume; None where the trial could not
    be judged, or where the rows are no labkit world's.
    """

    result: PointResult
    points: tuple[CrashPoint, ...]
    source: str
    observation: Observation | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """A handler killed at every crash point.

    `first` and `resume` are (file, function) of the two workers; `sources` holds each file's text, so
    that a crash map can be drawn years later.  `points` is the stream of the fault-free first run.
    """

    scenario: str
    fault: str
    depth: str
    first: tuple[str, str]
    resume: tuple[str, str]
    sources: dict[str, str]
    points: tuple[CrashPoint, ...]
    control: PointResult
    results: tuple[PointResult, ...]
    problems: tuple[str, ...] = ()
    closure: dict[str, Any] | None = None

    @property
    def all_results(self) -> tuple[PointResult, ...]:
        """The undisturbed control's first, then each schedule's."""
        return (self.control, *self.results)

    @property
    def verdicts(self) -> set[str]:
        """Every verdict (or outcome, where nothing was judged) that some schedule ended in."""
        return {name for result in self.all_results for name in result.names}

    @property
    def recoveries(self) -> int:
        """How many recoveries were run for its schedules: those after the same bytes share one."""
        return sum(not result.same_bytes_as for result in self.results if result.outcome == "judged")

    @property
    def broke(self) -> bool:
        """Whether the machinery failed somewhere: that is no word on the handler."""
        return any(result.outcome == "infra_error" for result in self.all_results)

    @property
    def passed(self) -> bool:
        """Whether every schedule passed and the sweep itself is sound."""
        closed = self.closure is None or (self.closure["closed"] and not self.closure["bad_finals"])
        return not self.problems and closed and all(result.passed for result in self.all_results)
