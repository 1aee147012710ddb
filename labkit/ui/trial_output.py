"""What `lab trial` prints: the crash points of an answer, or one trial of it."""

from __future__ import annotations

from dataclasses import asdict

from labkit.observations import CrashPoint, Trial
from labkit.ui import point
from labkit.ui.crash_view import bare
from labkit.ui.output import print_json, print_line, print_table
from labkit.ui.point import SeenTrial
from labkit.ui.signs import visible


def show_points(trial: Trial, kata: str, as_json: bool) -> None:
    """Every crash point of the first run, in order, with its line of source."""
    if as_json:
        print_json({"kata": kata, "points": [asdict(one) for one in trial.points]})
        return
    lines = trial.source.splitlines()
    before = [0, *(one.line for one in trial.points)]  # the source of points that share a line stands once
    rows = [
        (one.number, _what(one), one.line or "", "" if one.line == above else _source(lines, one.line))
        for one, above in zip(trial.points, before, strict=False)
    ]
    print_table(("point", "a crash just before", "line", "source"), rows)
    print_line(
        f"kill at one: lab trial {kata} --at N; 0 kills nowhere, N,M kills the resume at its point M too"
    )


def show(seen: SeenTrial, kata: str, as_json: bool) -> None:
    """One trial: where it was killed, the timeline, the rows at the kill and at the end, and what it cost."""
    if as_json:
        print_json({"kata": kata, **asdict(seen.result), "passed": seen.result.passed, **_observed(seen)})
        return
    print_line(f"{kata}: {point.where(seen.result)}")
    print_line("")
    print_line(point.text(seen))


def _observed(seen: SeenTrial) -> dict[str, object]:
    """How each process ended and the rows at both looks; nothing of it differs from trial to trial."""
    observation = seen.trial.observation
    if observation is None:
        return {"runs": [], "rows": {}}
    runs = [
        {"role": run.role, "returncode": run.returncode, "stopped_at": run.boundary, "result": run.result}
        for run in observation.runs
    ]
    return {"runs": runs, "rows": {label.replace(" ", "_"): rows for label, rows in seen.looks}}


def _what(one: CrashPoint) -> str:
    return "the line" if one.kind == "line" else bare(one)


def _source(lines: list[str], number: int) -> str:
    return visible(lines[number - 1]).strip() if 0 < number <= len(lines) else ""
