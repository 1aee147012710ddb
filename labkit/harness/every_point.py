"""Every crash point of a run: killed at each, and recovered from whatever these crashes have left.

Each kill is a run of its own.  Crashes that leave the same bytes are recovered from once: a recovery is a
process that starts from them, its chance and clock those of its run number, so it does the same each time.
At depth 2 it is killed at each of its points once, too, and what that leaves is again shared.
Other faults leave somebody alive, and two workers side by side are no function of the bytes that they
find: there every schedule is carried out by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from labkit.harness import known
from labkit.harness.alike import Alike, Store, shared
from labkit.harness.answers import Answer, Points, Schedule, Task, not_attempted, patiently, repeated
from labkit.harness.crashes import START
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool

Progress = Callable[[int, int], None]
Killed = tuple[dict[Schedule, Answer], list[Alike]]  # what could not be judged, and what the others have left


def quietly(done: int, total: int) -> None:
    """The progress listener that shows nothing."""


@dataclass(slots=True)
class Steps:
    """How far a sweep is; its total grows as it learns what there is to do."""

    listener: Progress
    total: int = 0
    done: int = 0

    def took(self, count: int = 1) -> None:
        """So many more are done."""
        self.done += count
        self.listener(self.done, self.total)


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of each schedule, and what their kills have left."""

    answers: dict[Schedule, Answer]
    groups: list[Alike]

    def in_order(self, points: Points) -> list[Answer]:
        """All answers, at least one for each point of the first run."""
        begun = {schedule[0] for schedule in self.answers}
        missing = {
            (point["number"],): not_attempted(point) for point in points if point["number"] not in begun
        }
        return [answer for _, answer in sorted((self.answers | missing).items())]


def once(job: SweepJob, pool: Pool, points: Points, progress: Progress) -> Answered:
    """Depth 1; what fails is repeated and must fail alike."""
    steps = Steps(progress)
    if not is_shared(job):
        return Answered(each_by_itself("kill_once", job, pool, points, steps), [])
    kills = first_kills(job, points)
    return repeatedly(job, pool, kills, killed_once(job, pool, points, kills, steps), steps)


def killed_once(
    job: SweepJob, pool: Pool, points: Points, kills: Mapping[Schedule, Task], steps: Steps
) -> Killed:
    """The first run killed at each of its points, or at those from which the others are known."""
    between = known.between(job.known, points)
    spared = {point["number"] for inside in between.values() for [point] in inside}
    if spared:
        unjudged, groups = killed(
            pool, {at: kill for at, kill in kills.items() if at[0] not in spared}, steps
        )
        if known.holds(job.known, groups):
            for group in groups:
                group.known = [inside for number in group.numbers for inside in between.get(number, [])]
            return unjudged, groups
    return killed(pool, kills, steps)


def repeatedly(
    job: SweepJob, pool: Pool, kills: Mapping[Schedule, Task], crashes: Killed, steps: Steps
) -> Answered:
    """Recovered from what the kills have left; a failure is repeated, from its kill on."""
    found = judged(job, pool, crashes, steps)
    repeats = {schedule: ("kill_and_recover", *task[1:]) for schedule, task in kills.items()}
    return Answered(shared(found.groups, repeated(pool, repeats, found.answers)), found.groups)


def twice(job: SweepJob, pool: Pool, points: Points, progress: Progress) -> Answered:
    """Depth 2: every pair."""
    steps = Steps(progress)
    if not is_shared(job):
        return Answered(each_by_itself("kill_twice", job, pool, points, steps), [])
    unjudged, groups = killed(pool, first_kills(job, points), steps)
    first_answers = recovered(job, pool, groups, steps, counts=True)
    kills = {
        (*group.first, second["number"]): ("kill", job.as_json, group.left, second, answer["witness"])
        for group in groups
        if (answer := first_answers.get(group.first, {})).get("outcome") == "judged"
        for second in answer["points"]
    }
    found = judged(job, pool, killed(pool, kills, steps), steps)
    stopped = {first: answer for first, answer in first_answers.items() if answer["outcome"] != "judged"}
    return Answered(shared(groups, unjudged | stopped | shared(found.groups, found.answers)), groups)


def is_shared(job: SweepJob) -> bool:
    """Whether what follows on a crash is a function of the bytes that it has left."""
    return job.fault == "kill" and not job.rival


def first_kills(job: SweepJob, points: Points) -> dict[Schedule, Task]:
    """A kill of the first run at each of its points."""
    given = job.as_json
    return {(point["number"],): ("kill", given, START, point, job.witness) for point in points}


def each_by_itself(
    task: str, job: SweepJob, pool: Pool, points: Points, steps: Steps
) -> dict[Schedule, Answer]:
    """Answers to schedules that share nothing; at depth 1 what fails is repeated."""
    given = job.as_json
    tasks: dict[Schedule, Task] = {(point["number"],): (task, given, point) for point in points}
    steps.total += len(tasks)
    answers: dict[Schedule, Answer] = {}
    for _, found in patiently(pool, tasks):
        answers |= {tuple(point["number"] for point in answer["schedule"]): answer for answer in found}
        steps.took()
    return repeated(pool, tasks, answers) if task == "kill_once" else answers


def judged(job: SweepJob, pool: Pool, crashes: Killed, steps: Steps) -> Answered:
    """Recovered once from the same bytes: an answer for each first of a group, and each kill that failed."""
    unjudged, groups = crashes
    return Answered(unjudged | recovered(job, pool, groups, steps, counts=bool(job.draws)), groups)


def killed(pool: Pool, kills: Mapping[Schedule, Task], steps: Steps) -> Killed:
    """Kill at each: what could not be judged, and what the others have left, in order."""
    unjudged: dict[Schedule, Answer] = {}
    groups: dict[str, Alike] = {}
    store = Store()
    steps.total += len(kills)

    def take(schedule: Schedule, answers: list[Answer]) -> list[Answer]:
        steps.took()
        return [store.keep(one, kills[schedule]) if "bytes" in one else one for one in answers]

    for schedule, [answer] in patiently(pool, kills, take):
        if "bytes" not in answer:
            unjudged[schedule] = answer
        elif answer["bytes"] in groups:
            groups[answer["bytes"]].others.append(answer["met"])
            store.drop(answer)
        else:
            groups[answer["bytes"]] = Alike(schedule, answer)
    return unjudged, list(groups.values())


def recovered(
    job: SweepJob, pool: Pool, groups: list[Alike], steps: Steps, counts: bool
) -> dict[Schedule, Answer]:
    """The recovery from what each group has left, by the first of its schedules."""
    given = job.as_json
    tasks: dict[Schedule, Task] = {group.first: ("recover", given, group.left, counts) for group in groups}
    steps.total += len(tasks)
    found: dict[Schedule, Answer] = {}
    for schedule, [answer] in patiently(pool, tasks):
        found[schedule] = answer
        steps.took()
    return found
