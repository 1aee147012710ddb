"""`lab predict` and `lab observe`: what the rows will say, and what they say, in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.errors import BadPrediction
from labkit.ui.output import JsonOption, print_json, print_line

if TYPE_CHECKING:
    from labkit.learning.check import Checked
    from labkit.learning.katas import Kata
    from labkit.learning.predict import Sealed
    from labkit.observations import Row
    from labkit.ui.seen import Seen

KataName = Annotated[str, typer.Argument(metavar="KATA", help="Its name, or the start of it: k03.")]
Given = Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=ANSWER", help="Answer one field.")]
Certainty = Annotated[str, typer.Option(help="A number of per cent, 0 to 100; it counts for every field.")]
Because = Annotated[str, typer.Option(help="Your reason, a sentence.")]

STATES = ("step", "operation_id", "state")
CALLS = ("operation_id", "status", "at_ms")
ANSWERED = ("committed", "already_committed")


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.command()(predict)
    app.command()(observe)


def predict(
    name: KataName,
    given: Given = None,
    certainty: Certainty = "",
    because: Because = "",
    as_json: JsonOption = False,
) -> None:
    """Seal a prediction in your journal; what no option answers is asked for."""
    from labkit.learning import katas
    from labkit.learning.predict import unanswered
    from labkit.learning.typed import band_of
    from labkit.ui import questions

    kata = katas.find(name)
    answers = questions.given_by(kata, given or [])
    if certainty:
        answers["certainty"] = band_of(certainty)
    if because:
        answers["because"] = because
    missing = unanswered(kata, answers)
    if missing and as_json:
        raise BadPrediction(f"not answered yet: {', '.join(missing)}", "--json asks nothing: give options")
    sealed = ask_and_seal(kata, answers, quiet=as_json)
    if as_json:
        print_json({"sealed": sealed})
    else:
        print_line(f"\nNext, kill its processes and read the rows: lab observe {kata.slug}")


def ask_and_seal(kata: Kata, answers: dict[str, Any], quiet: bool = False) -> Sealed:
    """Ask for what is not in `answers`, and seal the whole.

    Raises:
        BadPrediction: the input ends before all is answered; nothing is sealed.
        BadStore: the journal is damaged; nothing was asked.
    """
    from labkit.learning.places import workspace_folder
    from labkit.learning.predict import FILE, journal, unanswered
    from labkit.ui import questions
    from labkit.ui.exercises import question

    if unanswered(kata, answers):
        if (workspace_folder() / FILE).exists():
            with journal(workspace_folder()) as opened:
                opened.latest(kata)  # a journal that takes nothing is said before anybody has typed
        print_line(f"{kata.title}\n\n{question(kata)}\n")
        questions.ask_fields(kata, answers)
        questions.ask_how_sure_and_why(answers)
    # Imported after the questions: IPython and pandas take most of a second.
    from labkit.ui import formatters
    from labkit.ui.notebook import open_kata

    sealed = open_kata(kata.slug).predict(**answers)
    if not quiet:
        print_line(f"\nPrediction {sealed.prediction_id}, sealed.")
        print_line(formatters.sealed(sealed)["text/plain"])
    return sealed


def observe(name: KataName, given: Given = None, as_json: JsonOption = False) -> None:
    """Kill and resume a kata's processes, say what the rows say, and see your prediction checked."""
    from labkit.learning import katas
    from labkit.ui import questions

    kata = katas.find(name)
    checked = observed(kata, questions.given_by(kata, given or []), as_json)
    if as_json:
        from labkit.ui.checked import RESULT_TYPE, bundle

        print_json(bundle(checked)[RESULT_TYPE])
    else:
        print_line(f"\nNow write it yourself: lab watch {kata.slug}")
    if not checked.passed:
        raise typer.Exit(1)


def observed(kata: Kata, answers: dict[str, Any], quiet: bool = False) -> Checked:
    """Carry out a kata's runs, keep what was read from them, and check it with the prediction.

    What is in `answers` is not asked for; nor is anything where the rows were read before and
    `answers` is empty.  Everything but the questions is left unsaid where `quiet`.

    Raises:
        NotSealed: no prediction is sealed.
        BadPrediction: something is to be asked and nobody is there, or the input ends; nothing is kept.
        HarnessError: a child could not be started, killed or reaped.
    """
    from labkit.learning.check import Checked
    from labkit.learning.places import workspace_folder
    from labkit.learning.predict import unanswered
    from labkit.ui import checked, questions
    from labkit.ui.notebook import open_kata
    from labkit.ui.record import Record

    record = Record(kata, workspace_folder())
    sealed = record.sealed(f"no prediction is sealed for {kata.slug}", f"lab predict {kata.slug} first")
    is_read = not answers and record.reading(sealed) is not None
    missing = [] if is_read else unanswered(kata, answers, ())
    if missing and (quiet or not sys.stdin.isatty()):
        cure = "--json asks nothing: give --set" if quiet else "give --set FIELD=ANSWER, or use a terminal"
        raise BadPrediction(f"not read yet: {', '.join(missing)}", cure)
    opened = open_kata(kata.slug)
    for name in opened.runs:
        seen = opened.run(name)
        if not quiet:
            _show_run(seen)
    if missing:
        print_line("What do the rows above say? Reading wrong costs nothing.\n")
        questions.ask_fields(kata, answers)
    if not is_read:
        opened.observe(**answers)
    found = opened.check()
    assert isinstance(found, Checked)  # no handler was given
    if not quiet:
        print_line("\n" + checked.bundle(found)["text/plain"])
    return found


def _show_run(seen: Seen) -> None:
    """What the notebook shows of a run, and what it shows where it is asked for: states, and calls refused."""
    from labkit.ui import formatters, theme

    print_line(f"--- run {seen.name}\n\n{formatters.seen(seen)['text/plain']}\n")
    for title, columns, rows in _asked_for(seen):
        lines = [tuple(str(row[column]) for column in columns) for row in rows]
        print_line(f"{title}:\n{theme.in_columns(columns, lines)}\n")


def _asked_for(seen: Seen) -> list[tuple[str, tuple[str, ...], list[Row]]]:
    """The tables besides effects and checkpoints: a title, columns, rows."""
    final, killed = seen.observation.final, seen.observation.interruption
    tables: list[tuple[str, tuple[str, ...], list[Row]]] = []
    if killed is not None and len(seen.story.cuts) > 1:
        tables.append(
            (f"{seen.story.cuts[0].label}, journal.operations", STATES, killed["journal"]["operations"])
        )
    tables.append(("at the end, journal.operations", STATES, final["journal"]["operations"]))
    for ledger in seen.story.ledgers:
        calls = final[ledger]["invocations"]
        if any(call["status"] not in ANSWERED for call in calls):
            tables.append((f"at the end, {ledger}.invocations", CALLS, calls))
    return tables
