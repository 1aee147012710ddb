"""`lab run`, `lab list` and `lab trial`: the katas without a browser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.ui.output import JsonOption, print_json, print_line, print_table, progress

if TYPE_CHECKING:
    from labkit.ui.series_run import Outcome


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.command("run")(run)
    app.command("list")(list_katas)
    app.command("trial")(trial)


def run(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[KATA]...", help="Katas; all without a name.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A new or empty folder for the results; out/run-TIME without it."),
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Show what was predicted and observed, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Execute katas as notebooks, with the author's predictions and real kills."""
    from labkit.harness.folders import require_empty
    from labkit.learning import katas
    from labkit.ui import report, series_run

    chosen = [katas.find(name) for name in names or katas.names()]
    out = out or Path("out") / time.strftime("run-%Y%m%d-%H%M%S")
    require_empty(out)
    outcomes = []
    with progress("running", len(chosen)) as advance:
        for kata in chosen:
            outcomes.append(series_run.run_one(kata, out))
            advance(kata.slug)
    (out / "report.html").write_text(report.page(outcomes), encoding="utf-8")
    _show(outcomes, out, reveal, as_json)
    if not all(one.passed for one in outcomes):
        raise typer.Exit(1)


def _show(outcomes: list[Outcome], out: Path, reveal: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "katas": [outcome.as_json(reveal) for outcome in outcomes],
                "passed": all(one.passed for one in outcomes),
            }
        )
    else:
        print_table(("kata", "predicted", "contract", "exercise", "seconds"), [one.row for one in outcomes])
        if reveal:
            print_table(
                ("kata", "field", "predicted", "observed"), [row for one in outcomes for row in one.revealed]
            )
        for one in outcomes:
            if one.problem:
                print_line(f"{one.slug}: {one.problem}")
        print_line(f"notebooks and report: {out / 'report.html'}")


def trial(
    name: Annotated[str, typer.Argument(metavar="KATA", help="The kata whose exercise is run.")],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            help="Crash point N, 0 for none, or N,M to kill the resume too; all are listed without it.",
        ),
    ] = None,
    answer: Annotated[
        Path | None, typer.Option("--answer", help="A file with the exercise; yours without it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Kill a kata's exercise at one crash point and resume it: the timeline, the rows, the verdict."""
    from labkit.grading import engine
    from labkit.grading.stage import load_stage
    from labkit.learning import katas
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import answer_place
    from labkit.ui import learner, trial_output
    from labkit.ui.commands_sweep import numbers_of
    from labkit.ui.point import SeenTrial

    kata = katas.find(name)
    answer = answer or answer_place(workspace_folder(), kata.slug)
    learner.require_answer(answer, kata)
    learner.require_function(answer, kata.exercise)
    stage = load_stage(kata)
    found = engine.trial(stage, answer, numbers_of(at) if at is not None else ())
    if at is None:
        trial_output.show_points(found, kata.slug, as_json)
        return
    trial_output.show(SeenTrial(found, stage.boundaries), kata.slug, as_json)
    if not found.result.passed:
        raise typer.Exit(1)


def list_katas(as_json: JsonOption = False) -> None:
    """The series: each kata with its question, its part and how far you are with it."""
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import SAYS
    from labkit.ui.series import series_of

    rows = series_of(workspace_folder()).rows
    if as_json:
        print_json([
            {"kata": row.kata.slug, "title": row.kata.title, "part": row.kata.part, "minutes": row.kata.minutes,
             "predictions": row.predictions, "standing": row.standing}
            for row in rows
        ])  # fmt: skip
        return
    print_table(
        ("kata", "question", "part", "minutes", ""),
        [
            (row.kata.slug, row.kata.title, row.kata.part, row.kata.minutes, SAYS[row.standing])
            for row in rows
        ],
    )
    done = sum(row.standing == "done" for row in rows)
    print_line(f"\n{done} of {len(rows)} done: lab next says where to go on.")
