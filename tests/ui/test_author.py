"""The author's gate: what may ship passes, and each thing that may not is named."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

import nbformat
import pytest

from labkit.errors import BadKata, BadOption, OutputInUse
from labkit.learning import katas
from labkit.learning.katas import Kata
from labkit.ui import author, editions, gate
from labkit.ui.cli import main

from .conftest import MODEL, ROOT

EVERY_KATA = katas.names(ROOT)


@pytest.mark.timeout(900)  # every pair of crash points of every solution
@pytest.mark.slow
@pytest.mark.timeout(900)  # `depths` kills some thousand processes: every pair of points, every state
@pytest.mark.parametrize("slug", EVERY_KATA)
@pytest.mark.parametrize("question", list(gate.QUESTIONS))
def test_every_kata_may_ship(slug: str, question: str) -> None:
    """The whole gate, builds included; it runs the notebook."""

    assert gate.ask(katas.load(ROOT / "katas" / slug), question) == []


@pytest.mark.parametrize("slug", EVERY_KATA)
def test_every_lesson_has_the_measure_of_the_model_notebook(slug: str) -> None:
    """Counted here anew, so that the gate's own counting is not taken on trust."""

    notebook = editions.lesson(katas.load(ROOT / "katas" / slug))
    prose = [prose_words(cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]
    code = [
        len([line for line in cell.source.splitlines() if line.strip()])
        for cell in notebook.cells
        if cell.cell_type == "code" and "exercise" not in cell.metadata.tags
    ]

    assert 14 <= len(notebook.cells) <= 23
    assert max(prose) <= 90
    assert sum(prose) <= 600
    assert 25 <= statistics.median(prose) <= 55
    assert max(code) <= 12
    assert statistics.median(code) <= 4


def prose_words(markdown: str) -> int:
    """Words outside of code fences, by white space; list and heading marks are none."""
    outside = markdown.split("```")[::2]
    return sum(any(letter.isalnum() for letter in word) for part in outside for word in part.split())


def rewrite(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text, old
    file.write_text(text.replace(old, new), encoding="utf-8")


def faults(kata: Kata, *questions: str) -> list[str]:
    """The faults that some of the gate's questions find, after the kata was read again."""
    kata = katas.load(kata.folder)
    return [fault for name in questions for fault in gate.ask(kata, name)]


SOLUTION = "found = world.payments.read(operation.operation_id)"
SPOILT: dict[str, tuple[str, str, str, str, str]] = {
    "a prediction is not whole": (
        "predictions", "kata.toml", 'certainty = "67-80"\n', "", "not answered yet: certainty",
    ),
    "a field has no misconception": (
        "predictions", "kata.toml", 'field = "exit_code_with_new_key"', 'field = "payments_after_resume"',
        "no wrong answer to exit_code_with_new_key is explained",
    ),
    "an observe cell leaves a field out": (
        "predictions", "lesson.py", "    payments_after_resume=...,\n", "", "cell observe is not kata.observe(",
    ),
    "the solution is wrong": (
        "exercise", "lesson.py", f"    {SOLUTION}\n", "    return 'complete'\n", "the solution fails at depth 1 with",
    ),
    "the starter is right": (
        "exercise", "lesson.py", "    # solution\n    operation", "    operation", "has no line `# solution`",
    ),
    "a mutant is right": (
        "exercise", "mutants/new_key.py",
        'f"{operation.operation_id}:retry-{world.run_number}"', "operation.operation_id",
        "mutant new_key.py gives exactly_one and not duplicate",
    ),
    "a mutant is caught by another verdict": (
        "exercise", "mutants/new_key.py", 'CAUGHT_BY = "duplicate"', 'CAUGHT_BY = "lost"',
        "mutant new_key.py gives duplicate, exactly_one and not lost",
    ),
    "a mutant names no verdict": (
        "exercise", "mutants/new_key.py", 'CAUGHT_BY = "duplicate"', "", "new_key.py names no verdict",
    ),
    "a lesson gives its solution away": (
        "leaks", "lesson.py", "# - Who else than", f"# - `{SOLUTION}`\n# - Who else than",
        "holds the solution's line",
    ),
    "a heading is no question": (
        "model notebook", "lesson.py", "# ## Can you write it?", "# ## Write it", "'Write it' is no question",
    ),
    "a code cell is long": (
        "model notebook", "lesson.py", "kata.check()\n", "kata.check()\n" * 13, "13 lines, more than 12",
    ),
    "a prose cell is long": (
        "model notebook", "lesson.py", "# Two stores,", f"# {'word ' * 90}\n# Two stores,",
        "words, more than 90",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("question", "file", "old", "new", "message"), SPOILT.values(), ids=SPOILT.keys())
def test_what_may_not_ship_is_named(
    kata: Kata, question: str, file: str, old: str, new: str, message: str
) -> None:
    rewrite(kata.folder / file, old, new)

    found = faults(kata, question)

    assert any(message in fault for fault in found), found
    assert all(fault.startswith(f"{MODEL}: {question}: ") for fault in found)


def test_a_first_worker_whose_way_depends_on_amounts_may_not_ship(kata: Kata) -> None:
    """Here it leaves a file at two of its lines, where it pays much: all labels stay the same."""
    worker = (ROOT / "labkit" / "harness" / "workers" / "payment.py").read_text(encoding="utf-8")
    note = "__import__('pathlib').Path('much')"
    lines = (
        f"    {note}.touch() if operation.action.amount_minor > 100_000 else None\n",
        f"    {note}.unlink(missing_ok=True)\n",
    )
    requested = "    world.reached(Boundary.BEFORE_EFFECT)\n"
    (kata.folder / "worker.py").write_text(
        worker.replace(requested, lines[0] + requested + lines[1]), encoding="utf-8"
    )
    rewrite(
        kata.folder / "scenario.py", 'PAY = Handler(Path(payment.__file__), "pay")',
        'PAY = Handler(Path(__file__).with_name("worker.py"), "pay")',
    )  # fmt: skip

    [fault] = faults(kata, "worlds")

    assert "leave the same bytes is another thing in another world" in fault


def test_a_mutant_less_kata_may_not_ship(kata: Kata) -> None:
    shutil.rmtree(kata.folder / "mutants")

    assert faults(kata, "exercise") == [f"{MODEL}: exercise: there is no mutant"]


def test_a_stale_build_is_named(kata: Kata) -> None:
    rewrite(kata.folder / "lesson.py", "# Two stores,", "# Two other stores,")

    assert faults(kata, "built") == [
        f"{MODEL}: built: {name} is not what lesson.py gives: lab author build {MODEL}"
        for name in (f"{MODEL}.ipynb", "solved.ipynb")
    ]


def test_two_builds_are_the_same_bytes(kata: Kata) -> None:
    """And they are those that stand in the repository."""

    first, second = author.build(kata), author.build(kata)

    assert first == second
    for path, text in first.items():
        committed = ROOT / path.relative_to(kata.folder.parents[1])
        assert text == committed.read_text(encoding="utf-8")


def test_a_lesson_that_stops_is_not_built(kata: Kata) -> None:
    rewrite(kata.folder / "lesson.py", "kata.check(resume)", "kata.check(nothing)")

    with pytest.raises(BadKata, match=r"the solved lesson stops \(NameError"):
        author.build(kata)


def test_writing_leaves_what_is_current_alone(tmp_path: Path) -> None:
    files = {tmp_path / "a" / "one": "1", tmp_path / "two": "2"}

    assert author.write(files) == list(files)
    (tmp_path / "two").write_text("old", encoding="utf-8")
    assert author.write(files) == [tmp_path / "two"]
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["one", "two"]


def test_a_new_kata_may_ship_before_it_is_rewritten(project: Path) -> None:
    """An author starts from green; the exercise's sweeps are those of the model kata, tested above."""

    assert main(["author", "new", "k25_my_question"]) == 0
    assert main(["author", "build", "k25_my_question"]) == 0

    kata = katas.find("k25", project)
    assert faults(kata, "predictions", "leaks", "model notebook", "built") == []
    learner = nbformat.read(project / "notebooks" / "k25_my_question.ipynb", as_version=4)
    assert 'open_kata("k25_my_question"' in learner.cells[2].source


def test_a_gate_that_finds_something_exits_1(kata: Kata, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(kata.folder / "lesson.py", 'tags=["run"]', 'tags=["runs"]')

    assert main(["author", "check", MODEL]) == 1
    assert "has the tag runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "error"), [("k3", BadOption), ("../k25_x", BadOption), (MODEL, OutputInUse)]
)
def test_a_name_that_is_none_or_taken_makes_nothing(project: Path, name: str, error: type[Exception]) -> None:
    before = sorted(project.rglob("*"))

    with pytest.raises(error):
        author.new(name, project)
    assert sorted(project.rglob("*")) == before
