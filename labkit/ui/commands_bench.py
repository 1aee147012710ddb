"""`lab bench`: what labkit costs, as ratios within one run."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.errors import BadOption, HarnessError, OutputInUse
from labkit.ui.output import complain, print_table, progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labkit.harness.bench.measures import Bench, Measure
    from labkit.harness.bench.plans import Work


PARTS = {"harness": 6, "run": 1, "class": 1, "nbgrader": 2}  # part -> how many measures
SLOW_ROUNDS = 3  # of what takes many seconds a round


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(bench)


def bench(
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; medians are shown.")] = 5,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the measures to this new file.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="harness, run, class or nbgrader; again for more.")
    ] = None,
    nbgrader: Annotated[
        str | None,
        typer.Option(
            "--nbgrader", envvar="LAB_NBGRADER", metavar="BIN",
            help="The folder of programs of an environment with nbgrader; one is made and thrown away without it.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Measure labkit against its floors: the same forks, kills and SQL without labkit, in the same run.

    Exits 0 also where a bar is missed: timing decides nothing.
    """
    from labkit.harness.folders import scratch_folder

    if json_file is not None and json_file.exists():
        raise OutputInUse(f"{json_file} exists already", "choose a new file")
    chosen = only or list(PARTS)
    if odd := [part for part in chosen if part not in PARTS]:
        raise BadOption(f"--only {odd[0]} is not known", f"choose from {', '.join(PARTS)}")
    measures = []
    scratch = scratch_folder("lab-bench-")
    try:
        with progress("bench", sum(PARTS[part] for part in chosen)) as advance:
            for found in all_measures(chosen, rounds, scratch, nbgrader):
                measures.append(found)
                advance(found.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if json_file is not None:
        with json_file.open("x", encoding="utf-8") as file:
            json.dump({"measures": [asdict(found) for found in measures]}, file, indent=1)
    print_table(["measure", "labkit", "floor", "ratio", "bar"], [row_of(found) for found in measures])


def all_measures(chosen: list[str], rounds: int, scratch: Path, nbgrader: str | None) -> Iterator[Measure]:
    """The chosen parts, one after the other; nbgrader's is left out, with a message, where it is not to be had."""
    from labkit.harness.bench.measures import Bench
    from labkit.harness.pool import Pool
    from labkit.ui import bench_class, bench_nbgrader, bench_series

    slow_rounds = min(rounds, SLOW_ROUNDS)
    if "harness" in chosen:
        (scratch / "harness").mkdir()
        with Pool() as pool:
            yield from harness_measures(Bench(scratch / "harness", pool, rounds))
    if "run" in chosen:
        yield from bench_series.series_measures(slow_rounds)
    if "class" in chosen:
        (scratch / "class").mkdir()
        yield bench_class.floor_measure(rounds, scratch / "class")
    if "nbgrader" in chosen:
        with TemporaryDirectory(prefix="lab-bench-") as folder:
            try:
                programs = bench_nbgrader.programs(nbgrader, Path(folder))
            except HarnessError as error:
                complain(f"no comparison with nbgrader: {error.message}; {error.cure}")
                return
            yield from bench_class.nbgrader_measures(slow_rounds, Path(folder), programs)


def harness_measures(bench: Bench) -> Iterator[Measure]:
    """The trial, the sweeps at every depth, the launchers, the ledger."""
    from labkit.harness import closure, sweeps
    from labkit.harness.bench.plans import CONTROLS, work_of

    yield bench.trials(at_most=1.5)

    def swept(depth: str) -> list[Work]:
        return [*CONTROLS, *work_of(sweeps.sweep(bench.job, bench.pool, depth))]

    def explored() -> list[Work]:
        graph = closure.explore(bench.job, bench.pool, sweeps.quietly)
        kills = itertools.islice(itertools.cycle(bench.stops), graph["kills"])
        return [*[("kill", 0)] * len(graph["states"]), *(("kill", stop) for stop in kills)]

    yield bench.sweep("sweep at depth 1, time a kill", lambda: swept("1"), at_most=1.5)
    yield bench.sweep("sweep at depth 2, time a kill", lambda: swept("2"), at_most=1.5)
    yield bench.sweep("sweep at depth all, time a kill", explored, at_most=1.5)
    yield bench.launchers()
    with TemporaryDirectory(prefix="lab-bench-", dir=Path.cwd()) as folder:
        yield bench.ledger(Path(folder), effects=100, at_least=0.9)


def row_of(found: Measure) -> list[str]:
    """One measure as a table row."""
    bar = (
        f"at most {found.at_most:g}"
        if found.at_most
        else f"at least {found.at_least:g}"
        if found.at_least
        else "-"
    )
    verdict = "" if bar == "-" else " (met)" if found.holds else " (missed)"
    return [found.name, f"{found.labkit_s:.4g}", f"{found.floor_s:.4g}", f"{found.ratio:.2f}", bar + verdict]
