"""What `lab sweep` prints: what fell short first, by file and line, then the map and how to repeat it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labkit.harness.sweeps import Progress, quietly
from labkit.observations import PointResult, Sweep
from labkit.ui.output import complain, print_line, print_table

MOST_LINES = 30  # of what fell short; a depth-2 sweep of a wrong handler has hundreds alike


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on stderr whose total may grow; silent where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield quietly
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def shortfalls(sweep: Sweep, fail_on: Sequence[str] = ()) -> list[PointResult]:
    """The schedules that fell short; with `fail_on` only those with one of these verdicts or outcomes."""
    results = [result for result in sweep.all_results if not result.passed]
    return [result for result in results if not fail_on or set(result.names) & set(fail_on)]


def shortfall_lines(results: Sequence[PointResult], sweep: Sweep) -> list[str]:
    """One line a place and verdict, as compilers write them: `file:line: point: verdict: why`."""
    groups: dict[tuple[str, str], list[PointResult]] = {}
    for result in results:
        groups.setdefault((place_of(result, sweep), names_of(result)), []).append(result)
    lines = []
    for (place, names), alike in groups.items():
        labels = [labels_of(result) for result in alike]
        shown = "; ".join(labels[:3]) + (f"; and {len(labels) - 3} more" if len(labels) > 3 else "")
        lines.append(f"{place}: {shown}: {names}: {why(alike[0])}")
    return lines


def bad_final_lines(sweep: Sweep) -> list[str]:
    """The bad final state that depth `all` reached with the fewest crashes, as such a line."""
    closure = sweep.closure
    if closure is None or not closure["bad_finals"]:
        return []
    state = next(state for state in closure["states"] if state["id"] == closure["bad_finals"][0])
    schedule = closure["schedule"] or []
    file = sweep.first[0] if len(schedule) < 2 else sweep.resume[0]
    line = re.search(r"line (\d+)$", schedule[-1]) if schedule else None
    place = f"{readable(file)}:{line[1]}" if line else readable(file)
    labels = ", then ".join(schedule) or "no fault"
    return [f"{place}: {labels}: {', '.join(state['verdicts'])}: {'; '.join(state['because'])}"]


def place_of(result: PointResult, sweep: Sweep) -> str:
    """The file and line of the last crash; the line is left out where no line of the handler was running."""
    number = len(result.schedule)
    file = sweep.first[0] if number < 2 else sweep.resume[0]
    line = result.schedule[-1].line if result.schedule else 0
    return f"{readable(file)}:{line}" if line else readable(file)


def readable(file: str) -> str:
    """A file as a person would type it from here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def labels_of(result: PointResult) -> str:
    """The crash points in order."""
    return ", then ".join(point.label for point in result.schedule) or "no fault"


def names_of(result: PointResult) -> str:
    """Its verdicts, those of several intents in their order; or its outcome.  What all have in common stands once."""
    return ", ".join(dict.fromkeys(result.names))


def why(result: PointResult) -> str:
    """The rows that a failing verdict rests on, or what became of the trial."""
    failing = list(dict.fromkeys(verdict.because for verdict in result.verdicts if not verdict.passed))
    return "; ".join(failing) if result.outcome == "judged" and failing else result.explanation


def show(sweep: Sweep, failing: Sequence[PointResult]) -> None:
    """The whole terminal output of a sweep."""
    for problem in sweep.problems:
        complain(f"problem: {problem}")
    lines = [*shortfall_lines(failing, sweep), *bad_final_lines(sweep)]
    for line in lines[:MOST_LINES]:
        print_line(line)
    if len(lines) > MOST_LINES:
        print_line(f"... and {len(lines) - MOST_LINES} more places; --json FILE has them all")
    if lines:
        print_line("")
    show_map(sweep)
    print_line("")
    print_line(summary(sweep, failing))
    if failing or bad_final_lines(sweep):
        print_line(f"repeat one: {failing[0].command if failing else (sweep.closure or {})['command']}")


def show_map(sweep: Sweep) -> None:
    """The crash map in words, with the crash graph of depth `all`."""
    from labkit.ui import crashmap

    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(crashmap.renderable(sweep))
    else:
        print_line(crashmap.text(sweep))


def summary(sweep: Sweep, failing: Sequence[PointResult]) -> str:
    """One line: how much was killed, and what came of it."""
    counts: dict[str, int] = {}
    for result in sweep.results:
        names = " with ".join(dict.fromkeys(result.names))
        counts[names] = counts.get(names, 0) + 1
    found = ", ".join(f"{names} {count}" for names, count in sorted(counts.items())) or "nothing judged"
    trials = f"{len(sweep.points)} crash points, {len(sweep.results)} schedules of {sweep.fault}"
    if any(result.same_bytes_as for result in sweep.results):
        trials += f", {sweep.recoveries} recoveries"
    if sweep.closure is not None:
        closure = sweep.closure
        word = "closed" if closure["closed"] else "open"
        trials += f"; {word}: {len(closure['states'])} states, {closure['kills']} kills"
    return f"{trials}: {found}: {outcome_of(sweep, failing)}"


def outcome_of(sweep: Sweep, failing: Sequence[PointResult]) -> str:
    """The last words of the summary."""
    if sweep.passed:
        return "pass"
    words = [f"{len(failing)} fell short"]
    if bad_final_lines(sweep):
        words.append("a wrong end can be reached")
    if sweep.problems:
        words.append("the sweep is not sound")
    return ", ".join(words)


def show_one(result: PointResult, title: str) -> None:
    """One schedule in three columns."""
    print_line(f"{title}: {labels_of(result)}")
    promised = [
        f"run {number}: {'died' if answer is None else json.dumps(answer)}"
        for number, answer in enumerate(result.promised, 1)
    ]
    recorded = [f"{name}: {value}" for name, value in result.recorded.items()]
    happened = [f"{name}: {count}" for name, count in result.happened.items()]
    rows = max(len(promised), len(recorded), len(happened))
    columns = [column + [""] * (rows - len(column)) for column in (promised, recorded, happened)]
    print_table(("promised", "recorded", "happened"), list(zip(*columns, strict=True)))
    for verdict in result.verdicts:
        print_line(f"{verdict.name}: {verdict.because}")
    if result.outcome != "judged":
        print_line(f"{result.outcome}: {result.explanation}")
