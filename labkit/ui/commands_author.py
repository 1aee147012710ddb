"""`lab author new|build|check`: for those who write katas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labkit.ui.output import print_line, progress

author_app = typer.Typer(
    help="For authors: start a kata, build its notebooks, check it.", no_args_is_help=True
)

Names = Annotated[list[str] | None, typer.Argument(metavar="[KATA]...", help="Katas; all without a name.")]


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.add_typer(author_app, name="author")


@author_app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="KATA", help="kNN_words, such as k25_my_question.")],
) -> None:
    """Start a kata: a copy of the model kata that builds, to be rewritten."""
    from labkit.ui import author

    author.new(name)
    print_line(f"katas/{name}: edit its files, then lab author build {name}")


@author_app.command("build")
def build(
    names: Names = None,
    nbgrader: Annotated[
        Path | None,
        typer.Option("--nbgrader", metavar="COURSE", help="Write assignments for nbgrader there instead."),
    ] = None,
) -> None:
    """Build the learner's and the solved notebook from lesson.py."""
    from labkit.learning import katas
    from labkit.learning.places import project_folder, relative
    from labkit.ui import author, nbgrader_edition

    chosen = [katas.find(name) for name in names or katas.names()]
    if nbgrader is not None:
        for kata in chosen:
            for path in author.write_new(nbgrader_edition.files(kata, nbgrader)):
                print_line(f"built   {path}")
        return
    files: dict[Path, str] = {}
    with progress("building", len(chosen)) as advance:
        for kata in chosen:
            files |= author.build(kata)
            advance(kata.slug)
    if not names:  # the map of the series shows every kata, also one that somebody has just begun
        files |= author.build_start(project_folder())
    changed = author.write(files)
    for path in files:
        print_line(f"{'built  ' if path in changed else 'current'} {relative(path)}")


@author_app.command("check")
def check(names: Names = None) -> None:
    """The gate: starter fails, solution passes, mutants are caught, nothing leaks, builds are current."""
    from labkit.learning import katas
    from labkit.learning.places import project_folder
    from labkit.ui import author, gate

    chosen = [katas.find(name) for name in names or katas.names()]
    faults = []
    with progress("checking", len(chosen)) as advance:
        for kata in chosen:
            faults += gate.faults(kata)
            advance(kata.slug)
    starts = {} if names else author.build_start(project_folder())
    faults += [
        f"{path.name}: not what the lesson gives: lab author build"
        for path, text in starts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for fault in faults:
        print_line(fault)
    if faults:
        raise typer.Exit(1)
    print_line(f"{len(chosen)} katas may ship" if len(chosen) != 1 else "1 kata may ship")
