"""`lab sweep`: a handler killed at every crash point, and what its rows say then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from labkit.errors import BadOption, HarnessError
from labkit.ui.output import complain

if TYPE_CHECKING:
    from labkit.grading.sweeping import Request
    from labkit.harness.pool import Pool
    from labkit.observations import Sweep

MOST_JOBS = 64

Target = Annotated[str, typer.Argument(metavar="FILE[:FUNCTION]", help="The handler.", show_default=False)]
SelfTest = Annotated[bool, typer.Option("--self-test", help="Take out guards: is it noticed?")]


def register(app: typer.Typer) -> None:
    """Put this command on the application."""
    app.command()(sweep)


def sweep(
    target: Target = "",
    resume: Annotated[str, typer.Option(help="[FILE:]FUNCTION that resumes, where it is another.")] = "",
    command: Annotated[str, typer.Option(help="Sweep this program; {world} is the folder.")] = "",
    facts: Annotated[str, typer.Option(help="The file with `crash_facts` for --command.")] = "",
    points: Annotated[str, typer.Option(help="Where to kill.")] = "line,statement,boundary",
    depth: Annotated[str, typer.Option(help="1, 2 (the resume is killed too), or all.")] = "1",
    fault: Annotated[str, typer.Option(help="kill, pause, lost_reply or term.")] = "kill",
    world: Annotated[str, typer.Option(help="Twists of a labkit world, such as revoke_mandate.")] = "",
    at: Annotated[str, typer.Option(help="Repeat one trial: point N, or N,M at depth 2.")] = "",
    json: Annotated[Path | None, typer.Option(help="Write the sweep to this new file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the crash map to this new page.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this new file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a summary to this new file.")] = None,
    reproduce: Annotated[Path | None, typer.Option(help="Write a script a failing point, here.")] = None,
    fail_on: Annotated[str, typer.Option(help="Only these verdicts fall short: duplicate,lost.")] = "",
    self_test: SelfTest = False,
    jobs: Annotated[int, typer.Option(help="Warm processes; 0 for one a core.")] = 0,
    deadline: Annotated[float, typer.Option(help="Seconds that one run may take.")] = 5.0,
    seed: Annotated[str, typer.Option(help="Of chance and ids in the handler.")] = "1",
) -> None:
    """Kill a handler at every line, SQL statement and boundary, resume it, and judge it by its rows."""
    from labkit.grading.sweeping import Request

    request = Request(
        target, resume, command, facts, words_of(points), depth, fault,  # type: ignore[arg-type]  # checked there
        words_of(world), deadline, seed,
    )  # fmt: skip
    files = {"json": json, "html": html, "junit": junit, "markdown": markdown}
    given = {kind: path for kind, path in files.items() if path is not None}
    failing = words_of(fail_on)
    require_usable(given, reproduce, failing)
    with pool_of(jobs) as pool:
        if self_test:
            return run_self_test(request, pool)
        if at:
            return run_one(request, numbers_of(at), pool)
        return run_sweep(request, pool, given, reproduce, failing)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a comma-separated option."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def numbers_of(text: str) -> tuple[int, ...]:
    """The points of `--at`; `0` is the run without a fault.  Raises: BadOption."""
    try:
        numbers = tuple(int(word) for word in words_of(text))
    except ValueError:
        raise BadOption(f"--at is {text}", "give the numbers of points, such as 4 or 4,2") from None
    return () if numbers == (0,) else numbers


def require_usable(files: dict[str, Path], reproduce: Path | None, fail_on: tuple[str, ...]) -> None:
    """Find out what cannot be written, or means nothing, before anything runs.

    Raises:
        OutputInUse, BadOption, ReadOnly: as their names say.
    """
    from labkit.harness import packets
    from labkit.harness.folders import require_empty
    from labkit.observations import TrialOutcome, VerdictName

    known = (*get_args(VerdictName), *get_args(TrialOutcome))
    for name in fail_on:
        if name not in known:
            raise BadOption(f"--fail-on {name} is no verdict", f"choose from {', '.join(known)}")
    for path in files.values():
        packets.require_new(path)
    if reproduce is not None:
        require_empty(reproduce)


@contextmanager
def pool_of(jobs: int) -> Iterator[Pool]:
    """Warm processes, gone afterwards.  Raises: BadOption."""
    from labkit.harness.pool import Pool

    if not 0 <= jobs <= MOST_JOBS:
        raise BadOption(f"--jobs is {jobs}", f"give a number from 1 to {MOST_JOBS}, or 0 for one a core")
    with Pool(jobs or None) as pool:
        yield pool


def run_sweep(
    request: Request, pool: Pool, files: dict[str, Path], reproduce: Path | None, fail_on: tuple[str, ...]
) -> None:
    """The sweep, its files, its output and its exit code."""
    from labkit.grading import sweeping
    from labkit.harness import sweeps
    from labkit.ui import sweep_output, sweep_scripts

    with sweeping.prepared_job(request) as job:
        with sweep_output.progress_bar("sweep") as progress:
            swept = sweeps.sweep(job, pool, request.depth, progress)
        failing = sweep_output.shortfalls(swept, fail_on)
        sweep_output.show(swept, failing)
        for kind, path in files.items():
            write_file(kind, path, swept)
        if reproduce is not None:
            deep = [sweeps.repeat(job, pool, numbers)] if (numbers := shortest_way(swept)) else []
            sweep_scripts.write_all(reproduce, job, swept, [*failing, *deep])
    if swept.broke:
        raise HarnessError("some trials broke in the machinery and were not judged", "see them above")
    closed = swept.closure is None or (swept.closure["closed"] and not swept.closure["bad_finals"])
    if swept.problems or failing or not closed:
        raise typer.Exit(1)


def shortest_way(swept: Sweep) -> list[int]:
    """The points of the shortest schedule to a wrong end, where it takes more crashes than the sweep's own."""
    schedule = (swept.closure or {}).get("schedule") or []
    return [int(label.split(" ", 1)[0]) for label in schedule] if len(schedule) > 1 else []


def write_file(kind: str, path: Path, swept: Sweep) -> None:
    """One evidence file, which did not exist before."""
    from labkit.harness import sweep_files
    from labkit.ui import crashmap, sweep_reports

    if kind == "json":
        return sweep_files.write(path, swept)
    text: Any = {"html": crashmap.html_page, "junit": sweep_reports.junit, "markdown": sweep_reports.markdown}
    with path.open("x", encoding="utf-8") as file:
        file.write(text[kind](swept))
    return None


def run_one(request: Request, schedule: tuple[int, ...], pool: Pool) -> None:
    """Repeat one trial and show its three columns."""
    from labkit.grading import sweeping
    from labkit.ui import sweep_output

    result = sweeping.repeat(request, schedule, pool)
    sweep_output.show_one(result, request.target or request.command)
    if not result.passed:
        raise typer.Exit(1)


def run_self_test(request: Request, pool: Pool) -> None:
    """Remove one guard after the other and say which removals the sweep noticed."""
    from labkit.grading import self_test
    from labkit.ui import sweep_output
    from labkit.ui.output import print_line, print_table

    with sweep_output.progress_bar("guards") as progress:
        report = self_test.run(request, pool, progress)
    print_table(
        ("guard removed", "line", "what", "sweep"),
        [(r.guard, r.line, r.text, r.outcome) for r in report.removals],
    )
    print_line(report.summary)
    if not report.passed:
        complain(report.complaint)
        raise typer.Exit(1)
