"""The author's gate: what must hold of a kata before a learner meets it.  Each fault is one line."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat import NotebookNode

from labkit.errors import LabError
from labkit.grading import engine, variants
from labkit.grading.stage import load_stage
from labkit.grading.variants import Variant
from labkit.harness.known import known_from
from labkit.harness.pool import Pool
from labkit.learning import predict
from labkit.learning.katas import Kata
from labkit.observations import Sweep
from labkit.ui import author, editions

CELLS = range(14, 24)
WORDS_A_CELL, WORDS_MEDIAN, WORDS_IN_ALL = 90, 55, 600
LINES_A_CELL, LINES_MEDIAN = 12, 4
FEWEST_HINTS = 2
OTHER_WORLDS = (
    Variant(2, 1, 2000),
    Variant(98, 7, 899_999),
)  # the least and the most that a learner can draw
FEWEST_WORDS = 3  # of a line that would give something away


def faults(kata: Kata) -> list[str]:
    """Everything that is wrong with a kata, empty where it may ship."""
    return [fault for question in QUESTIONS for fault in ask(kata, question)]


def ask(kata: Kata, question: str) -> list[str]:
    """What one of the gate's questions finds."""
    found: list[str] = []
    try:
        found.extend(QUESTIONS[question](kata))
    except LabError as error:
        found.append(str(error))
    return [f"{kata.slug}: {question}: {fault}" for fault in found]


def _predictions(kata: Kata) -> Iterator[str]:
    """The author's prediction is whole; every hint and misconception is there; both cells ask for every field."""
    predict.whole(kata, kata.author)
    if len(kata.hints) < FEWEST_HINTS:
        yield f"{len(kata.hints)} hints, write at least {FEWEST_HINTS}"
    explained = {one.field for one in kata.misconceptions}
    for field in kata.fields:
        if field.name not in explained:
            yield f"no wrong answer to {field.name} is explained"
    fields = [field.name for field in kata.fields]
    for tag, names in (("predict", [*fields, *predict.MORE]), ("observe", fields)):
        blank = ", ".join(f"{name}=..." for name in names)
        if ast.unparse(ast.parse(_cell(editions.lesson(kata), tag).source)) != f"kata.{tag}({blank})":
            yield f"cell {tag} is not kata.{tag}(...) with {', '.join(names)}, each left at ..."


def _exercise(kata: Kata) -> Iterator[str]:
    """The starter fails, the solution passes, every mutant is caught by the verdict that it names."""
    stage = load_stage(kata)
    with Pool() as pool, TemporaryDirectory(prefix="lab-gate-") as folder:
        if engine.grade(stage, _answer(editions.learner(kata), folder), pool=pool).passed:
            yield "the starter passes"
        yield from _falls_short(engine.grade(stage, _answer(editions.lesson(kata), folder), pool=pool))
        if not kata.mutants:
            yield "there is no mutant"
        for mutant in kata.mutants:
            expected, sweep = author.caught_by(mutant), engine.grade(stage, mutant, pool=pool)
            if sweep.passed or expected not in sweep.verdicts:
                yield f"mutant {mutant.name} gives {', '.join(sorted(sweep.verdicts))} and not {expected}"


def _depths(kata: Kata) -> Iterator[str]:
    """The solution passes when the resume is killed too, and however often anything is killed."""
    stage = load_stage(kata)
    with Pool() as pool, TemporaryDirectory(prefix="lab-gate-") as folder:
        solution = _answer(editions.lesson(kata), folder)
        for depth in ("2", "all"):
            yield from _falls_short(engine.grade(stage, solution, depth, pool))


def _worlds(kata: Kata) -> Iterator[str]:
    """What a class takes for known of a kata's own worker is so in worlds of other values (docs/grading.md)."""
    own = load_stage(kata)
    with Pool() as pool, TemporaryDirectory(prefix="lab-gate-") as folder:
        starter = _answer(editions.learner(kata), folder)
        if Path(own.exercise(starter).first.file) == starter:
            return
        stages = [own, *(variants.staged(own, values) for values in OTHER_WORLDS)]
        known = [known_from(engine.grade(stage, starter, pool=pool)) for stage in stages]
        if not known[0] or any(one != known[0] for one in known):
            yield "which crashes of its first worker leave the same bytes is another thing in another world"


def _falls_short(sweep: Sweep) -> Iterator[str]:
    if not sweep.passed:
        found = ", ".join((*sorted(sweep.verdicts), *sweep.problems))
        yield f"the solution fails at depth {sweep.depth} with {found}"


def _answer(notebook: NotebookNode, folder: str) -> Path:
    """The exercise's cell as a file."""
    path = Path(folder) / "answer.py"
    path.write_text(_cell(notebook, "exercise").source + "\n", encoding="utf-8")
    return path


def _cell(notebook: NotebookNode, tag: str) -> NotebookNode:
    found: NotebookNode = next(cell for cell in notebook.cells if tag in cell.metadata.tags)
    return found


def _built(kata: Kata) -> Iterator[str]:
    """The notebooks that stand in the project are what the lesson gives today."""
    for path, text in author.build(kata).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{path.name} is not what lesson.py gives: lab author build {kata.slug}"


def _leaks(kata: Kata) -> Iterator[str]:
    """No line of a solution, no output and no prediction of the author stands in the learner's notebook."""
    text = author.learners_text(kata)
    notebook = editions.learner(kata)
    for line in solution_lines(kata):
        if any(line in cell.source for cell in notebook.cells):
            yield f"the learner's notebook holds the solution's line {line!r}"
    if kata.author["because"] in text:
        yield "the learner's notebook holds the author's reason"
    for cell in notebook.cells:
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            yield f"cell {cell.metadata.name} has an output"


def solution_lines(kata: Kata) -> list[str]:
    """The lines that the learner's edition must not have: solution cells, and what replaced the gap."""
    lesson = editions.lesson(kata)
    exercise = _cell(lesson, "exercise").source
    given = {line.strip() for line in editions.starter(exercise, kata.slug).splitlines()}
    lines = [line.strip() for line in exercise.splitlines()]
    for cell in lesson.cells:
        if "solution" in cell.metadata.tags:
            lines += [line.strip() for line in cell.source.splitlines()]
    # `)`, `else:` or `return 1` give nothing away wherever they stand.
    telling = [line for line in lines if len(re.findall(r"\w+", line)) >= FEWEST_WORDS]
    return [line for line in telling if line not in given]


def _model(kata: Kata) -> Iterator[str]:
    """The lesson has the measure of a twenty-minute notebook."""
    lesson = editions.lesson(kata)
    prose = {cell.metadata.name: words(cell.source) for cell in lesson.cells if cell.cell_type == "markdown"}
    code = {
        cell.metadata.name: lines(cell.source)
        for cell in lesson.cells
        if cell.cell_type == "code" and "exercise" not in cell.metadata.tags
    }
    if len(lesson.cells) not in CELLS:
        yield f"{len(lesson.cells)} cells, write {CELLS.start} to {CELLS.stop - 1}"
    yield from (
        f"cell {name} has {count} words, more than {WORDS_A_CELL}"
        for name, count in prose.items()
        if count > WORDS_A_CELL
    )
    yield from (
        f"cell {name} has {count} lines, more than {LINES_A_CELL}"
        for name, count in code.items()
        if count > LINES_A_CELL
    )
    if (middle := statistics.median(prose.values())) > WORDS_MEDIAN:
        yield f"prose cells have a median of {middle} words, more than {WORDS_MEDIAN}"
    if (middle := statistics.median(code.values())) > LINES_MEDIAN:
        yield f"code cells have a median of {middle} lines, more than {LINES_MEDIAN}"
    if (total := sum(prose.values())) > WORDS_IN_ALL:
        yield f"{total} words in all, more than {WORDS_IN_ALL}"
    for cell in lesson.cells:
        if cell.cell_type == "markdown":
            yield from (
                f"the heading {head!r} is no question"
                for head in headings(cell.source)
                if not head.endswith("?")
            )


def words(markdown: str) -> int:
    """The words of a prose cell; a drawing in a code fence and list marks are none."""
    return len(re.findall(r"\w[\w.'()-]*", _without_fences(markdown)))


def headings(markdown: str) -> list[str]:
    """The texts of a cell's headings."""
    return re.findall(r"^#+ +(.+?) *$", _without_fences(markdown), re.MULTILINE)


def _without_fences(markdown: str) -> str:
    return re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)


def lines(source: str) -> int:
    """The lines of a code cell that hold something."""
    return sum(1 for line in source.splitlines() if line.strip())


QUESTIONS: dict[str, Callable[[Kata], Iterator[str]]] = {
    "predictions": _predictions,
    "exercise": _exercise,
    "depths": _depths,
    "worlds": _worlds,
    "leaks": _leaks,
    "model notebook": _model,
    "built": _built,
}
