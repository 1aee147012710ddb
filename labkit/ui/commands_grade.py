"""`lab grade` and `lab submit`: a class judged from durable rows, and what a learner hands in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.errors import BadOption
from labkit.ui.output import JsonOption, complain, print_json, print_line, print_table, progress

if TYPE_CHECKING:
    from labkit.grading.classroom import ClassResult
    from labkit.grading.judging import Place
    from labkit.learning.katas import Kata


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.command("grade")(grade)
    app.command("submit")(submit)


def grade(
    submissions: Annotated[
        Path, typer.Argument(metavar="SUBMISSIONS", help="A folder with one entry a learner.")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The results' folder: new, empty, or of an earlier run.")
    ],
    katas: Annotated[
        list[str] | None, typer.Option("--kata", help="Grade this kata; again for more; all without it.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, max=256, help="Answers judged at a time; one a core without it."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Judge on this Dask cluster instead of here."),
    ] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="auto, bwrap or rlimits.")] = "auto",
    as_json: JsonOption = False,
) -> None:
    """Grade a class: every answer killed at every crash point in a sandbox; run again, it goes on."""
    from labkit.grading import confinement
    from labkit.grading.submissions import read_class
    from labkit.learning import katas as series

    if scheduler is not None and jobs is not None:
        raise BadOption("--jobs and --scheduler exclude each other", "a cluster's workers are its jobs")
    chosen = [series.find(name) for name in katas or series.names()]
    confinement.require_known(sandbox)
    count = len(read_class(submissions, chosen)) * len(chosen)
    with _place(scheduler, sandbox, jobs, chosen, count) as place:
        result = _graded(submissions, out, place, chosen, count)
    _show(result, out, as_json)
    if result.infrastructure_failed:
        complain("the infrastructure failed for some answers, which have no score: run it again")
        raise typer.Exit(3)
    if any(row.earned < row.possible for row in result.rows):
        raise typer.Exit(1)


def _place(
    scheduler: str | None, sandbox: str, jobs: int | None, katas: list[Kata], count: int
) -> AbstractContextManager[Place]:
    """Where the answers are judged: on a cluster, or on this machine."""
    from labkit.grading import confinement, grid, here

    if scheduler is not None:
        return grid.connected(scheduler, sandbox, katas)
    return here.here(confinement.choose(sandbox), jobs, katas, count)


def _graded(submissions: Path, out: Path, place: Place, katas: list[Kata], count: int) -> ClassResult:
    """Grade `count` answers into the results' folder, and write every file of it."""
    from labkit.grading import gradebook, results
    from labkit.grading.classroom import Classroom
    from labkit.ui import class_page, feedback

    if place.named_level == "rlimits, own user":
        complain(
            "no bubblewrap and not root: answers run as you, and may do what you may: install bubblewrap"
        )
    with gradebook.opened(out) as book:
        with progress("grading", count) as advance:
            result = Classroom(book, place, katas).grade(submissions, advance)
        results.write(result, out)
        feedback.write(result, book, out / "feedback")
        results.put(out / "class.html", class_page.page(result))
    return result


def _show(result: ClassResult, out: Path, as_json: bool) -> None:
    if as_json:
        from labkit.grading import results

        print_json(results.document(result))
        return
    from labkit.ui.signs import visible

    print_table(
        ("learner", "points", *(kata.slug for kata in result.katas)),
        [
            (
                visible(row.learner),
                f"{row.earned} of {row.possible}",
                *(
                    row.marks[kata.slug].earned
                    if row.marks[kata.slug].outcome == "judged"
                    else row.marks[kata.slug].outcome
                    for kata in result.katas
                ),
            )
            for row in result.rows
        ],
    )
    print_line(f"{len(result.rows)} submitted, {len(result.rows)} reported; sandbox: {result.sandbox}")
    for row in result.rows:
        for slug, before in row.changed.items():
            now = row.marks[slug]
            points = f"{before.earned} of {before.possible} before, {now.earned} of {now.possible} now"
            print_line(f"changed: {visible(row.learner)}, {slug}: {points}")
    print_line(f"results: {out / 'grades.csv'}, {out / 'class.html'}")


def submit(
    out: Annotated[Path, typer.Option("--out", help="The archive to write; never overwritten.")] = Path(
        "submission.zip"
    ),
    as_json: JsonOption = False,
) -> None:
    """Pack your notebooks, answers and predictions into one archive to hand in."""
    from labkit.learning.places import project_folder, workspace_folder
    from labkit.ui import packing

    packed = packing.pack(project_folder() / "notebooks", workspace_folder(), out)
    if as_json:
        print_json({"archive": str(out), "files": packed})
        return
    print_table(("file", "sha256"), [(name, digest[:12]) for name, digest in packed.items()])
    print_line(f"hand in: {out}")
