"""`lab bench`: what labkit costs, as ratios within one run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.errors import OutputInUse
from labkit.ui.output import print_table, progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labkit.harness.bench.measures import Bench, Measure


MEASURES = 6


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(bench)


def bench(
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; medians are shown.")] = 5,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the measures to this new file.")
    ] = None,
) -> None:
    """Measure labkit against its floors: the same forks, kills and SQL without labkit, in the same run.

    Exits 0 also where a bar is missed: timing decides nothing.
    """
    from labkit.harness import sweeps
    from labkit.harness.bench.measures import Bench
    from labkit.harness.pool import Pool

    if json_file is not None and json_file.exists():
        raise OutputInUse(f"{json_file} exists already", "choose a new file")
    measures = []
    with Pool() as pool, sweeps.scratch() as scratch, progress("bench", MEASURES) as advance:
        for found in harness_measures(Bench(Path(scratch), pool, rounds)):
            measures.append(found)
            advance(found.name)
    if json_file is not None:
        with json_file.open("x", encoding="utf-8") as file:
            json.dump({"measures": [asdict(found) for found in measures]}, file, indent=1)
    print_table(["measure", "labkit", "floor", "ratio", "bar"], [row_of(found) for found in measures])


def harness_measures(bench: Bench) -> Iterator[Measure]:
    """The trial, the sweeps at every depth, the launchers, the ledger."""
    from labkit.harness import closure, sweeps

    yield bench.trials(at_most=1.5)
    for depth in ("1", "2"):
        yield bench.sweep(
            f"sweep at depth {depth}, time a kill",
            lambda depth=depth: len(sweeps.sweep(bench.job, bench.pool, depth).results),  # type: ignore[misc]
            at_most=1.5,
        )
    yield bench.sweep(
        "sweep at depth all, time a kill",
        lambda: closure.explore(bench.job, bench.pool, sweeps.quietly)["kills"],
        at_most=1.5,
        work="kills",
    )
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
