"""`lab review`: how sure the learner was, and the katas to ask again, which it runs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.errors import BadOption
from labkit.ui.output import JsonOption, complain, print_json, print_line, print_table

if TYPE_CHECKING:
    from labkit.learning.calibration import Review, Tally
    from labkit.learning.readings import Summary

KataName = Annotated[
    str | None, typer.Argument(metavar="[KATA]", help="Ask this one again, whatever you said of it.")
]
Run = Annotated[bool, typer.Option("--run", help="Ask again at once, without a question before.")]


def register(app: typer.Typer) -> None:
    """Put this command on the application."""
    app.command()(review)


def review(name: KataName = None, run: Run = False, as_json: JsonOption = False) -> None:
    """How sure you were, and how right; on a terminal the katas with errors are asked again.

    It is feedback about your first predictions, and never a grade.
    """
    from labkit.learning import katas
    from labkit.learning.places import workspace_folder
    from labkit.ui.learner import readings_of, review_of

    run = run or name is not None
    if run and (as_json or not sys.stdin.isatty()):
        raise BadOption("asking again takes a terminal", "leave KATA, --run and --json out to see the scores")
    workspace = workspace_folder()
    chosen = [katas.find(name).slug] if name is not None else []
    if not chosen:
        found, read = review_of(workspace), readings_of(workspace)
        if as_json:
            return print_json(asdict(found) | {"readings": read})
        _show(found, read)
        chosen = list(found.again)
    if chosen and (run or (sys.stdin.isatty() and _wanted(chosen[0]))):
        _ask_again(chosen)
    return None


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


def _show(found: Review, read: Summary) -> None:
    from labkit.learning.calibration import ENOUGH

    if not found.overall.answers:
        print_line("No prediction was compared with the rows yet: lab next says where to begin.")
        return
    print_line(f"{found.overall.right} of {found.overall.answers} answers right, in your first predictions.")
    if read.answers:
        print_line(f"{read.right} of {read.answers} read right from the rows, at first sight.")
    if not found.enough:
        print_line(
            f"Fewer than {ENOUGH} answers show nothing about how sure to be; no score is drawn from them."
        )
    else:
        print_line(
            f"Brier score {found.overall.brier:.2f}: 0 is perfect, an even chance said of all is 0.25.\n"
        )
        print_table(("certainty %", "right", "Brier", ""), [_row(one) for one in found.bands])
        print_line("")
        print_table(("part", "right", "Brier", ""), [_row(one) for one in found.parts])
    for one in found.wrong:
        print_line(f"\n{one.kata}, {one.certainty} % sure: {one.label}")
        print_line(f"  you said {one.predicted}, the rows say {one.observed}. {one.why}".rstrip())
    if found.again:
        print_line("\nAsk yourself again, the surest errors first:")
        for slug in found.again:
            print_line(f"  lab review {slug}")


def _row(one: Tally) -> tuple[str, ...]:
    if one.brier is None:
        return (one.name, f"{one.right} of {one.answers}", "", "too few to say")
    return (one.name, f"{one.right} of {one.answers}", f"{one.brier:.2f}", one.says or "")
