"""`lab review`: how sure the learner was, and the katas to ask again, which it runs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.errors import BadOption
from labkit.ui.output import JsonOption, complain, print_json, print_line

if TYPE_CHECKING:
    from labkit.learning.calibration import Review
    from labkit.learning.readings import Summary

KataName = Annotated[
    str | None, typer.Argument(metavar="[KATA]", help="Ask this one again, whatever you said of it.")
]
Svg = Annotated[Path | None, typer.Option("--svg", help="Draw how sure against how right, in a new file.")]
Run = Annotated[bool, typer.Option("--run", help="Ask again at once, without a question before.")]


def register(app: typer.Typer) -> None:
    """Put this command on the application."""
    app.command()(review)


def review(name: KataName = None, run: Run = False, svg: Svg = None, as_json: JsonOption = False) -> None:
    """How sure you were, and how right; on a terminal the katas with errors are asked again.

    It is feedback about your first predictions, and never a grade.
    """
    from labkit.harness.packets import require_new
    from labkit.learning import katas
    from labkit.learning.places import workspace_folder
    from labkit.ui import reviewed
    from labkit.ui.learner import readings_of, review_of

    run = run or name is not None
    if run and (as_json or svg is not None or not sys.stdin.isatty()):
        raise BadOption("asking again takes a terminal alone", "leave KATA and --run out to see the scores")
    if svg is not None:
        require_new(svg)
    workspace = workspace_folder()
    chosen = [katas.find(name).slug] if name is not None else []
    if not chosen:
        found, read = review_of(workspace), readings_of(workspace)
        if as_json:
            print_json(asdict(found) | {"readings": read})
        else:
            print_line(reviewed.as_text(found, _read(read)))
        if svg is not None:
            _draw(found, svg)
        chosen = [] if as_json or svg is not None else list(found.again)
    if chosen and (run or (sys.stdin.isatty() and _wanted(chosen[0]))):
        _ask_again(chosen)


def _read(read: Summary) -> str:
    return f"{read.right} of {read.answers} read right from the rows, at first sight." if read.answers else ""


def _wanted(first: str) -> bool:
    print(f"\nEnter begins with {first}, q leaves: ", end="", flush=True)
    line = sys.stdin.readline()
    return line.endswith("\n") and line.strip().casefold() in ("", "y", "yes")


def _ask_again(slugs: list[str]) -> None:
    """Predict, run, observe and check, one kata after the other."""
    from labkit.learning import katas
    from labkit.ui.commands_predict import ask_and_seal, observed

    for number, slug in enumerate(slugs, 1):
        print_line(f"\n=== {number} of {len(slugs)}: {slug} (Ctrl-C ends; what is sealed and kept stays)\n")
        kata = katas.find(slug)
        try:
            ask_and_seal(kata, {})
            print_line("")
            observed(kata, {})
        except KeyboardInterrupt:
            complain(f"{slug} stops here: lab observe {slug} goes on from what is sealed")
            raise
    print_line("\nThat was all of it. lab review shows how you stand.")


def _draw(found: Review, svg: Path) -> None:
    """The plot as a file that did not exist before; of too few answers there is none, and that is said."""
    from labkit.ui import calibration_plot

    if why := calibration_plot.declined(found.bands):
        complain(f"{why}; {svg} was not written")
        raise typer.Exit(1)
    with svg.open("x", encoding="utf-8") as file:
        file.write(calibration_plot.as_file(found.bands))
