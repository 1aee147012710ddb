"""What crashes cost, in words: equal outcomes joined, the first one that goes wrong, and the tally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.observations import PointResult, Sweep
from labkit.ui.crash_view import ranges
from labkit.ui.signs import TIMES, Sign, shown, signs_of, visible, worst_first

MOST_COMMANDS = 40  # of single crashes, shown one by one; of more, the first, and the numbers to put into it
MOST_PAIRS = 4  # of several crashes in a row
DOING = {
    "kill": "killed (SIGKILL)",
    "pause": "paused (SIGSTOP) while a second worker takes over, then continued",
    "lost_reply": "the effect done and its reply lost",
    "term": "asked to stop (SIGTERM), killed after the grace period",
}
NOUNS = {"kill": "a crash", "pause": "a pause", "lost_reply": "a lost reply", "term": "a SIGTERM"}
COUNTED = {"kill": "kills", "pause": "pauses", "lost_reply": "replies lost", "term": "SIGTERMs"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Schedules that cost exactly the same: the three columns, the verdicts, and why."""

    results: tuple[PointResult, ...]

    @property
    def signs(self) -> tuple[Sign, ...]:
        """The worst first."""
        return signs_of(self.results[0])

    @property
    def names(self) -> str:
        """`duplicate`, or several joined."""
        return ", ".join(sign.name for sign in self.signs)

    @property
    def place(self) -> str:
        """`21-32`, or `1-4 then 7` at depth 2."""
        return schedules([result for result in self.results if result.schedule]) or "no crash"

    @property
    def promised(self) -> str:
        """What each run returned, in order."""
        return (
            ", then ".join("no answer" if one is None else shown(one) for one in self.results[0].promised)
            or "nothing"
        )

    @property
    def recorded(self) -> str:
        """What the journal says."""
        return columns(self.results[0].recorded)

    @property
    def happened(self) -> str:
        """How many effects each intent has."""
        return effects(self.results[0])

    @property
    def because(self) -> str:
        """The sentences that the verdicts rest on, each once, and the last words of a failing run."""
        sentences = dict.fromkeys(verdict.because for verdict in self.results[0].verdicts)
        return "; ".join([*sentences, *filter(None, [self.results[0].explanation])])

    @property
    def again(self) -> tuple[tuple[str, str], ...]:
        """Each schedule's labels and the shell line that repeats it; of many, the first stands for all."""
        found = tuple((labels(result), result.command) for result in self.results)
        if len(found) <= (MOST_COMMANDS if len(self.results[0].schedule) < 2 else MOST_PAIRS):
            return found
        return (*found[:1], (f"and {len(found) - 1} more", f"with --at for each of: {self.place}"))


def labels(result: PointResult) -> str:
    """A schedule in words."""
    return visible(", then ".join(point.label for point in result.schedule) or "no crash")


def outcomes(results: Sequence[PointResult]) -> tuple[Outcome, ...]:
    """Results joined where they cost the same, in the order of their first schedule."""
    found: dict[str, list[PointResult]] = {}
    for result in results:
        same = Outcome((result,))
        key = repr((same.signs, same.promised, same.recorded, same.happened, same.because))
        found.setdefault(key, []).append(result)
    return tuple(Outcome(tuple(group)) for group in found.values())


def in_lines(outcome: Outcome) -> str:
    """An outcome in full, a line a fact."""
    return "\n".join(
        [
            f"{' '.join(sign.symbol for sign in outcome.signs)} {outcome.names} at {outcome.place}",
            f"  promised  {outcome.promised}",
            f"  recorded  {outcome.recorded}",
            f"  happened  {outcome.happened}",
            f"  because   {visible(outcome.because)}",
            f"  again     {visible(outcome.results[0].command)}",
        ]
    )


def ends(results: Sequence[PointResult]) -> str:
    """The verdict and the effects, `duplicate, 2 x charge order-1001`; `9 of 12 duplicate` where it varies."""
    counts = Counter(sign for result in results for sign in signs_of(result))
    if len({signs_of(result) for result in results}) == 1:
        names = [sign.name for sign in worst_first(counts)]
    else:
        worse = [sign for sign in worst_first(counts) if sign.tone != "pass"] or worst_first(counts)
        names = [f"{counts[sign]} of {len(results)} {sign.name}" for sign in worse]
    return f"{', '.join(names)}, {span(results)}"


def span(results: Sequence[PointResult]) -> str:
    """The effects of several results: `1 or 2 x charge order-1001`."""
    counts: dict[str, set[int]] = {}
    for result in results:
        for intent, count in result.happened.items():
            counts.setdefault(intent, set()).add(count)
    each = [f"{' or '.join(map(str, sorted(found)))} {TIMES} {intent}" for intent, found in counts.items()]
    return visible(", ".join(each)) or "nothing judged"


def columns(recorded: dict[str, object]) -> str:
    """A column's facts in one line."""
    return ", ".join(f"{shown(name)} {shown(value)}" for name, value in recorded.items()) or "nothing"


def effects(result: PointResult) -> str:
    """`2 x charge order-1001`."""
    return (
        ", ".join(f"{count} {TIMES} {shown(intent)}" for intent, count in result.happened.items())
        or "nothing"
    )


def schedules(results: Sequence[PointResult]) -> str:
    """Where these crashed, by number: `5-20`, or `1-12 then 7-9, 20; 21 then 1-4` at depth 2."""
    then: dict[tuple[int, ...], list[int]] = {}
    for result in results:
        numbers = tuple(point.number for point in result.schedule)
        then.setdefault(numbers[:-1], []).append(numbers[-1])
    alike: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for before, last in then.items():
        alike.setdefault((ranges(sorted(last)), before[1:]), []).append(before[0] if before else 0)
    parts = []
    for (last_text, middle), firsts in alike.items():
        steps = [ranges(firsts), *map(str, middle)] if firsts != [0] else []
        parts.append(" then ".join([*steps, last_text]))
    return "; ".join(parts)


def tally(sweep: Sweep) -> list[tuple[Sign, int]]:
    """How many schedules end in each way, the worst first; one with several verdicts counts in each."""
    counts = Counter(sign for result in sweep.results for sign in signs_of(result))
    return [(sign, counts[sign]) for sign in worst_first(counts)]


def kills(sweep: Sweep) -> int:
    """How many faults were met for real: the distinct beginnings of the judged schedules, a fault each.

    What follows on crashes that left the same bytes as others' was carried out for those only.
    """
    spared = {tuple(p.number for p in one.schedule) for one in sweep.results if not one.is_killed}
    met = {
        numbers[: length + 1]
        for result in sweep.results
        if result.outcome not in ("not_killed", "not_attempted")
        for numbers in [tuple(point.number for point in result.schedule)]
        for length in range(len(result.same_bytes_as) or len(numbers))
    }
    return len(met - spared) + int((sweep.closure or {}).get("kills", 0))
