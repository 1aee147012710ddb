"""`lab predict` and `lab review`: predictions in the terminal, and what the first ones show."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.errors import BadOption, BadPrediction
from labkit.ui.output import JsonOption, complain, print_json, print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from labkit.learning.calibration import Review, Tally
    from labkit.learning.katas import Kata

KataName = Annotated[str, typer.Argument(metavar="KATA", help="Its name, or the start of it: k03.")]
Given = Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=ANSWER", help="Answer one field.")]
Certainty = Annotated[str, typer.Option(help="<67, 67-80 or >80, per cent; it counts for every field.")]
Because = Annotated[str, typer.Option(help="Your reason, a sentence.")]
Run = Annotated[
    bool, typer.Option("--run", help="Then kill, resume and compare; what is sealed is not asked again.")
]


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.command()(predict)
    app.command()(review)


def predict(
    name: KataName,
    given: Given = None,
    certainty: Certainty = "",
    because: Because = "",
    run: Run = False,
    as_json: JsonOption = False,
) -> None:
    """Seal a prediction in your journal; what no option answers is asked for."""
    from labkit.learning import katas
    from labkit.learning.predict import CERTAINTIES, from_text, unanswered

    kata = katas.find(name)
    answers: dict[str, Any] = {}
    for pair in given or []:
        field, equals, text = pair.partition("=")
        if not equals or field in answers:
            raise BadOption(f"--set {pair}", "give FIELD=ANSWER, each field once")
        answers[field] = from_text(kata.field(field), text)
    answers |= {key: text for key, text in (("certainty", certainty), ("because", because)) if text}
    if certainty and certainty not in CERTAINTIES:
        raise BadOption(f"--certainty is {certainty}", f"give one of {', '.join(CERTAINTIES)}, in quotes")
    missing = unanswered(kata, answers)
    if missing and not (run and not answers and _is_sealed(kata)):
        if as_json:
            raise BadPrediction(
                f"not answered yet: {', '.join(missing)}", "--json asks nothing: give options"
            )
        _ask(kata, answers)
    _seal(kata, answers, run, as_json)


def _is_sealed(kata: Kata) -> bool:
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import standings

    return standings(workspace_folder(), [kata])[kata.slug][0] > 0


def _seal(kata: Kata, answers: dict[str, Any], run: bool, as_json: bool) -> None:
    # Imported after the questions: IPython and pandas take most of a second.
    from labkit.ui import checked, formatters
    from labkit.ui.notebook import open_kata

    opened = open_kata(kata.slug)
    sealed = opened.predict(**answers)
    if not as_json:
        print_line(f"\nPrediction {sealed.prediction_id}, sealed.")
        print_line(formatters.sealed(sealed)["text/plain"])
    compared = None
    if run:
        compared = opened.check_all()
        if not as_json:
            print_line("\n" + checked.bundle(compared)["text/plain"])
            print_line(f"\nNow write it yourself: lab watch {kata.slug}")
    elif not as_json:
        print_line(f"\nSee what happens: notebooks/{kata.slug}.ipynb, or lab predict {kata.slug} --run")
    if as_json:
        print_json({"sealed": sealed, "checked": compared})
    if compared is not None and not compared.passed:
        raise typer.Exit(1)


def _ask(kata: Kata, answers: dict[str, Any]) -> None:
    """Ask for what is not answered, in the kata's order, until each has an answer of its kind."""
    from labkit.learning.predict import CERTAINTIES, from_text, reason
    from labkit.ui.exercises import question

    print_line(f"{kata.title}\n\n{question(kata)}\n")
    asked = [field for field in kata.fields if field.name not in answers]
    for number, field in enumerate(asked, 1):
        wanted = field.wanted.replace("True or False", "yes or no")
        prompt = f"{number} of {len(asked)}: {field.label}\n  ({wanted}) "
        answers[field.name] = _until_right(prompt, partial(from_text, field))
    if "certainty" not in answers:
        prompt = f"How sure are you of all of it, in per cent?\n  ({', '.join(CERTAINTIES)}) "
        answers["certainty"] = _until_right(prompt, _certainty)
    if "because" not in answers:
        answers["because"] = _until_right("Why? In a sentence; a wrong one costs nothing.\n  ", reason)


def _certainty(text: str) -> str:
    from labkit.learning.predict import CERTAINTIES

    band = text.replace(" ", "").removesuffix("%")
    if band not in CERTAINTIES:
        raise BadPrediction(f"{text!r} is no band", f"give one of {', '.join(CERTAINTIES)}")
    return band


def _until_right(prompt: str, read: Callable[[str], Any]) -> Any:
    while True:
        print(prompt, end="", flush=True)
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError:
            raise BadPrediction("the answer is not UTF-8", "type it again") from None
        if not line:
            print_line("")
            raise BadPrediction("the answers end here, nothing was sealed", "answer all, or give --set")
        try:
            return read(line.strip())
        except BadPrediction as error:
            complain(str(error))


def review(as_json: JsonOption = False) -> None:
    """How sure you were, and how right, over your first predictions.  Feedback, never a grade."""
    from labkit.learning.places import workspace_folder
    from labkit.ui.learner import review_of

    found = review_of(workspace_folder())
    if as_json:
        print_json(found)
    else:
        _show(found)


def _show(found: Review) -> None:
    from labkit.learning.calibration import ENOUGH

    if not found.overall.answers:
        print_line("No prediction was compared with the rows yet: lab next says where to begin.")
        return
    print_line(f"{found.overall.right} of {found.overall.answers} answers right, in your first predictions.")
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
            print_line(f"  lab predict {slug}")


def _row(one: Tally) -> tuple[str, ...]:
    if one.brier is None:
        return (one.name, f"{one.right} of {one.answers}", "", "too few to say")
    return (one.name, f"{one.right} of {one.answers}", f"{one.brier:.2f}", one.says or "")
