"""The first lines of a crash map: how it ended, in one sentence, and what was done to find out."""

from __future__ import annotations

from pathlib import PurePath

from labkit.observations import Sweep
from labkit.ui.crash_first import first_wrong
from labkit.ui.crash_outcomes import COUNTED, DOING, NOUNS, kills
from labkit.ui.signs import Tone, visible


def tone(sweep: Sweep) -> Tone:
    """`fail` where rows show a wrong ending, `unjudged` where something else keeps it from passing."""
    if sweep.passed:
        return "pass"
    wrong = any(one.outcome == "judged" and not one.passed for one in sweep.all_results)
    return "fail" if wrong or (sweep.closure or {}).get("bad_finals") else "unjudged"


def headline(sweep: Sweep) -> str:
    """The one sentence to read."""
    failing = [result for result in sweep.results if not result.passed]
    wrong = [result for result in failing if result.outcome == "judged"]
    deepest = max((len(result.schedule) for result in sweep.results), default=1)
    total, things = len(sweep.results), "crash points" if deepest == 1 else "crash schedules"
    if sweep.control.outcome == "judged" and not sweep.control.passed:
        return "It goes wrong without any crash"
    if wrong:
        first = first_wrong(sweep)
        assert first is not None
        place = f", first on line {first.line} of {first.file}" if first.line else ""
        return f"It goes wrong at {len(wrong)} of {total} {things}{place}"
    if sweep.closure is not None:
        return _of_closure(sweep.closure)
    if failing:
        return f"{len(failing)} of {total} {things} could not be judged"
    if sweep.problems:
        return f"Nothing is shown yet: {visible(sweep.problems[0])}"
    return f"It passes at all {total} {things}"


def _of_closure(closure: dict[str, object]) -> str:
    states = closure["states"]
    assert isinstance(states, list)
    if closure["bad_finals"]:
        schedule = closure.get("schedule")
        crashes = len(schedule) if isinstance(schedule, list) else 0
        return f"It goes wrong after {crashes} crash{'' if crashes == 1 else 'es'}"
    if not closure["closed"]:
        return f"Still open: {len(states)} states, and crashes keep leading to new ones"
    return f"It passes for any number of crashes at these points: {len(states)} states, and no new one"


def done(sweep: Sweep) -> str:
    """What was swept, and how."""
    total, spared = len(sweep.points), sum(not result.is_killed for result in sweep.results)
    where = f"at {total - spared} of {total} points that stand for all" if spared else "at every point"
    times = {
        "1": f"once {where}",
        "2": "twice, the second time in the recovery",
        "all": "at every point of every state",
    }
    how = (
        f"{DOING.get(sweep.fault, visible(sweep.fault))} {times.get(sweep.depth, f'at depth {sweep.depth}')}"
    )
    pairs = sum(len(result.schedule) == 2 for result in sweep.results)
    if sweep.depth == "1" and pairs:
        how += f", and twice at {pairs} drawn pair{'' if pairs == 1 else 's'} of points"
    what = NOUNS.get(sweep.fault, "the fault")
    counted = f"{kills(sweep)} {COUNTED.get(sweep.fault, 'faults')}"
    meaning = (
        ""
        if sweep.fault == "lost_reply"
        else f". {what[0].upper()}{what[1:]} at a point comes just before it"
    )
    return f"depth {visible(sweep.depth)}: {how}, then resumed to the end{shared(sweep)}; {counted}{meaning}"


def shared(sweep: Sweep) -> str:
    """How many recoveries stand for how many crashes, where some share one."""
    if not any(result.same_bytes_as for result in sweep.results):
        return ""
    return f", once for crashes that left the same bytes ({sweep.recoveries} recoveries)"


def workers(sweep: Sweep) -> str:
    """`payment.py:pay`, and what resumes it."""
    (file, function), (later_file, later) = sweep.first, sweep.resume
    first = visible(f"{PurePath(file).name}:{function}")
    again = visible(f"{PurePath(later_file).name}:{later}")
    return first if sweep.first == sweep.resume else f"{first}, resumed by {again}"
