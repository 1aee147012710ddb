"""`lab next`, `read`, `hint`, `reset`, `check` and `watch`: the learner's loop, also without a browser."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.errors import BadOption, HarnessError
from labkit.ui.output import JsonOption, complain, print_json, print_line

if TYPE_CHECKING:
    from labkit.learning.progress import Standing

KataName = Annotated[str, typer.Argument(metavar="KATA", help="Its name, or the start of it: k03.")]
AnswerFile = Annotated[
    Path | None, typer.Argument(metavar="[ANSWER.py]", help="A file with the exercise; yours without it.")
]
Again = Annotated[bool, typer.Option("--again", help="Show again what was shown, and nothing new.")]
WholeMap = Annotated[bool, typer.Option("--map", help="Every crash point, on the source.")]
Every = Annotated[float, typer.Option("--every", help="Seconds between two looks at the file.")]

TODO: dict[Standing, tuple[str, ...]] = {
    "new": ("lab read {kata}", "lab predict {kata}"),
    "predicted": ("lab watch {kata}",),
    "fell short": ("lab watch {kata}", "lab hint {kata}"),
    "edited": ("lab check {kata}",),
    "passes": ("lab predict {kata}",),
    "done": (),
}


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.command("next")(next_kata)
    app.command()(read)
    app.command()(hint)
    app.command()(reset)
    app.command()(check)
    app.command()(watch)


def next_kata(as_json: JsonOption = False) -> None:
    """The first kata that is not done, and what to do in it."""
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import SAYS
    from labkit.ui.learner import is_unread
    from labkit.ui.series import series_of

    workspace = workspace_folder()
    rows = series_of(workspace).rows
    row = next((row for row in rows if row.standing != "done"), None)
    todo = TODO[row.standing] if row else ()
    if row and row.standing == "predicted" and is_unread(row.kata, workspace):
        todo = ("lab observe {kata}",)
    if as_json:
        return print_json(
            row
            and {
                "kata": row.kata.slug,
                "title": row.kata.title,
                "standing": row.standing,
                "do": [command.format(kata=row.kata.slug) for command in todo],
            }
        )
    if row is None:
        return print_line(f"All {len(rows)} katas are done: lab review shows how sure you were.")
    kata, said = row.kata, SAYS[row.standing] or "not begun"
    print_line(f"{kata.slug}: {kata.title}")
    print_line(f"part {kata.part}, {kata.minutes} minutes, {said}")
    print_line(f"  notebooks/{kata.slug}.ipynb, or here:")
    for command in todo:
        print_line(f"  {command.format(kata=kata.slug)}")
    return None


def read(name: KataName) -> None:
    """A kata's lesson as text, as far as you are: up to its questions, to its exercise, to its end."""
    from labkit.learning import katas, progress
    from labkit.learning.places import workspace_folder
    from labkit.ui import learner, lesson_text

    kata, workspace = katas.find(name), workspace_folder()
    predictions, standing = progress.standings(workspace, [kata])[kata.slug]
    unread = learner.is_unread(kata, workspace)
    print_line(lesson_text.before_the_prediction(kata))
    if not predictions:
        return print_line(f"\nSay what you expect: lab predict {kata.slug}")
    if unread:
        return print_line(f"\nKill its processes and read the rows: lab observe {kata.slug}")
    print_line(f"\n{lesson_text.before_the_exercise(kata)}")
    if standing != "done":
        return print_line(f"\nNow write it yourself: lab watch {kata.slug}")
    return print_line(f"\n{lesson_text.after_the_exercise(kata)}")


def hint(name: KataName, again: Again = False, as_json: JsonOption = False) -> None:
    """One hint more for a kata's exercise; which were shown is remembered."""
    from labkit.learning import katas
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import progress
    from labkit.ui.learner import now_ms

    kata = katas.find(name)
    with progress(workspace_folder()) as opened:
        new = 0 if again else opened.next_hint(kata, now_ms())
        shown = opened.hints_shown(kata.slug)
    steps = [new] if new else list(range(1, shown + 1))
    if as_json:
        hints = [{"step": step, "hint": kata.hints[step - 1]} for step in steps]
        return print_json({"kata": kata.slug, "shown": shown, "of": len(kata.hints), "hints": hints})
    for step in steps:
        print_line(f"Hint {step} of {len(kata.hints)}: {kata.hints[step - 1]}")
    if not again and not new:
        print_line(f"Those are all the hints of {kata.slug}.")
    if again and not shown:
        print_line(f"No hint was shown yet: lab hint {kata.slug}")
    elif not again and new and new < len(kata.hints):
        print_line(f"Still stuck? lab hint {kata.slug} has one more.")
    return None


def reset(name: KataName) -> None:
    """Put your answer and notebook of a kata back to their start; what you wrote is kept."""
    from labkit.learning import katas, progress
    from labkit.learning.places import workspace_folder
    from labkit.ui import author, exercises
    from labkit.ui.sweep_output import readable

    kata, workspace = katas.find(name), workspace_folder()
    notebook = exercises.reset_notebook(kata, workspace)
    answer = exercises.reset_answer(kata, workspace)
    places = (author.learners_place(kata), progress.answer_place(workspace, kata.slug))
    for place, kept in zip(places, (notebook, answer), strict=True):
        tail = f"; what lay there is kept in {readable(str(kept))}" if kept else ""
        print_line(f"{readable(str(place))} is as at the start{tail}")
    if notebook:
        print_line("If it is open in JupyterLab: File, Reload Notebook from Disk.")


def check(
    name: KataName, answer: AnswerFile = None, whole_map: WholeMap = False, as_json: JsonOption = False
) -> None:
    """Kill and resume by your answer at every crash point; say what fell short, or draw the whole crash map."""
    from labkit.grading.stage import load_stage
    from labkit.learning import katas
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import answer_place
    from labkit.ui import crashmap_text, learner, sweep_output, told

    kata, workspace = katas.find(name), workspace_folder()
    path = answer or answer_place(workspace, kata.slug)
    learner.require_answer(path, kata)
    with sweep_output.progress_bar("check") as show:
        swept = learner.sweep(load_stage(kata), path, workspace, show)
    if as_json:
        print_json(swept.sweep)
    elif whole_map:
        sweep_output.show(swept.sweep, sweep_output.shortfalls(swept.sweep))
    else:
        print_line(crashmap_text.verdict(swept.sweep))
        for line in told.told(swept, kata.slug):
            print_line(line)
        named = f" {shlex.quote(str(answer))}" if answer else ""
        print_line(f"Each crash on the source: lab check {kata.slug}{named} --map")
    if swept.sweep.broke:
        raise HarnessError("some trials broke in the machinery and were not judged", "see them above")
    if not swept.kept and answer is None:
        complain(f"{path.name} was edited while it was checked: check it again")
        raise typer.Exit(1)
    if not swept.sweep.passed:
        raise typer.Exit(1)


def watch(name: KataName, every: Every = 0.5) -> None:
    """Check your answer whenever its file is saved, until Ctrl-C; exit 0 if the last check passed."""
    from labkit.grading.stage import load_stage
    from labkit.learning import katas
    from labkit.learning.places import workspace_folder
    from labkit.learning.progress import answer_place
    from labkit.ui import exercises, lesson_text, watching
    from labkit.ui.sweep_output import readable

    if not 0.05 <= every <= 60:
        raise BadOption(f"--every is {every}", "give seconds from 0.05 to 60")
    kata, workspace = katas.find(name), workspace_folder()
    stage = load_stage(kata)
    path = answer_place(workspace, kata.slug)
    print_line(f"{lesson_text.before_the_exercise(kata)}\n")
    if exercises.write_starter(kata, workspace):
        print_line(f"The exercise was written to {readable(str(path))}.")
    print_line(f"Watching {readable(str(path))}: write `{kata.exercise}` and save. Ctrl-C ends.")
    sys.stdout.flush()
    passed = False
    try:
        for _ in watching.saves(path, every):
            round_ = watching.checked(stage, path, workspace)
            passed = round_.passed  # before it is shown: Ctrl-C after "Done" must find it
            watching.show(round_)
    except KeyboardInterrupt:
        print_line("")
    if not passed:
        raise typer.Exit(1)
