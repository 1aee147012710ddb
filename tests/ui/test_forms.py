"""The forms: closed until all is answered, kept in the journal, and never where nobody sits."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from labkit.errors import StoreLocked
from labkit.learning import katas
from labkit.learning.katas import Field, Kata
from labkit.learning.predict import CERTAINTIES, Sealed
from labkit.ui import editions, forms, running
from labkit.ui.forms import PredictionForm, ReadingForm
from labkit.ui.notebook import open_kata

from .conftest import MODEL, ROOT

VIEW = "application/vnd.jupyter.widget-view+json"
CALL = "from labkit.ui.notebook import open_kata\nkata = open_kata('k03_missing_ack')\nkata.predict({})"
BLANK = ", ".join(f"{name}=..." for name in ("payments_at_the_kill", "certainty", "because"))


@pytest.fixture
def answers(kata: Kata) -> dict[str, Any]:
    """The author's prediction as it is typed."""
    return {name: str(answer) if isinstance(answer, int) else answer for name, answer in kata.author.items()}


def fill(form: forms.Form, answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        form.controls[name].value = answer


def box_of(bundle: dict[str, Any]) -> Any:
    """The form that was shown, as a page finds it: by its model's name."""
    return widgets.widget_serialization["from_json"](f"IPY_MODEL_{bundle[VIEW]['model_id']}", None)


def texts(bundle: dict[str, Any]) -> list[widgets.HTML]:
    """The texts within a form that was shown."""
    return [one for one in box_of(bundle).children if isinstance(one, widgets.HTML)]


def saved(outputs: list[RichOutput]) -> NotebookNode:
    """The notebook's file after these outputs: an update takes the place of what it updates."""
    places: dict[str, dict[str, Any]] = {}
    for one in outputs:
        assert one.update == (one.transient["display_id"] in places)
        places[one.transient["display_id"]] = one.data
    shown = [new_output("display_data", data=data) for data in places.values()]
    return new_notebook(cells=[new_code_cell("kata.predict()", outputs=shown)])


def words_of(notebook: NotebookNode) -> str:
    """What a page shows that knows no widgets and runs no script."""
    page = HTMLExporter().from_notebook_node(notebook)[0].partition("<main>")[2]
    shown = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def test_it_opens_when_all_is_answered_and_says_what_is_missing(kata: Kata, answers: dict[str, Any]) -> None:
    form = PredictionForm(kata, open_kata(MODEL).predict)
    seen = [form.status.value]
    for name, answer in answers.items():
        assert form.button.disabled
        form.controls[name].value = answer
        seen.append(form.status.value)

    assert not form.button.disabled
    assert "7 still to answer; next: Payments in the ledger when the worker has just died" in seen[0]
    assert "2 still to answer; next: how sure you are" in seen[5]
    assert "1 still to answer; next: your reason" in seen[6]
    assert "All answered" in seen[7]


@pytest.mark.parametrize("typed", ["", "one", "1.5", "9" * 40])
def test_what_is_no_number_keeps_it_closed(kata: Kata, answers: dict[str, Any], typed: str) -> None:
    form = PredictionForm(kata, open_kata(MODEL).predict)
    fill(form, answers | {"payments_after_resume": typed})

    assert form.button.disabled
    assert "Payments after <code" in form.status.value


def test_sealing_writes_the_journal_that_the_call_reads(kata: Kata, answers: dict[str, Any]) -> None:
    form = PredictionForm(kata, open_kata(MODEL).predict)
    fill(form, answers)
    form.button.click()

    sealed = open_kata(MODEL).predict(because=...)
    assert sealed.prediction.answers["exit_code_with_new_key"] == kata.author["exit_code_with_new_key"]
    assert (sealed.prediction_id, sealed.prediction.certainty) == (1, kata.author["certainty"])


def test_sealed_answers_take_the_forms_place_as_plain_html(
    shell: InteractiveShell, kata: Kata, answers: dict[str, Any]
) -> None:
    """The notebook's file keeps them: no widget is needed to read them again."""
    with capture_output() as captured:
        form = PredictionForm(kata, open_kata(MODEL).predict)
        form.show()
        fill(form, answers | {"because": "<b>bold</b>"})
        form.button.click()
    shown, kept, sealed, emptied = captured.outputs

    assert VIEW in shown.data
    assert (sealed.update, sealed.transient) == (True, shown.transient)
    assert sorted(sealed.data) == ["text/html", "text/plain"]
    assert (emptied.update, emptied.transient, "".join(emptied.data.values())) == (True, kept.transient, "")
    words = words_of(saved(captured.outputs))
    assert "<b>bold</b>" in words
    assert "waits for" not in words
    assert "go on with the next cell" in sealed.data["text/html"]
    assert "&lt;b&gt;bold" in sealed.data["text/html"]


def test_a_reopened_notebook_says_what_was_asked_and_how_to_answer(
    shell: InteractiveShell, kata: Kata, answers: dict[str, Any]
) -> None:
    """Kernel and widget are gone: the file still has each question, and no typed answer that was never sealed."""
    with capture_output() as captured:
        form = PredictionForm(kata, open_kata(MODEL).predict)
        form.show()
        fill(form, answers)
    words = words_of(notebook := saved(captured.outputs))
    [widget, kept] = notebook.cells[0].outputs

    assert "waits for your prediction. To fill it in, run the cells above, then this one" in words
    for question in (*(field.label.replace("`", "") for field in kata.fields), forms.HOW_SURE, forms.WHY):
        assert question in words
    assert kata.author["because"] not in words
    assert "In your journal already" not in words
    assert widget.data["text/html"] == widget.data["text/plain"] == ""
    assert all(field.label in kept.data["text/plain"] for field in kata.fields)


def test_what_cannot_be_sealed_stays_in_the_form(kata: Kata, answers: dict[str, Any]) -> None:
    def locked(**_given: Any) -> Sealed:
        raise StoreLocked("predictions.sqlite3 is locked", "close what holds it")

    form = PredictionForm(kata, locked)
    fill(form, answers)
    form.button.click()

    assert "StoreLocked: predictions.sqlite3 is locked" in form.status.value
    assert form.controls["because"].value == kata.author["because"]
    assert not form.button.disabled


def test_every_kind_of_field_has_a_labelled_control(kata: Kata) -> None:
    """Backticks become code, and nothing in a label becomes HTML."""
    fields = (
        Field("number", "integer", "How <many> after `resume`?"),
        Field("either", "boolean", "Is it?"),
        Field("which", "choice", "Which?", ("a", "b")),
    )
    form = PredictionForm(replace(kata, fields=fields), open_kata(MODEL).predict)
    described = [control.description for control in form.controls.values()]

    assert described[0] == "How &lt;many&gt; after <code>resume</code>?"
    assert described[1:3] == ["Is it?", "Which?"]
    assert all(described)
    assert list(form.controls["certainty"].options) == list(forms.BANDS.items())


FIELDS = (
    Field("number", "integer", "How many?"), Field("either", "boolean", "Is it?"),
    Field("which", "choice", "Which?", ("a", "b")),
)  # fmt: skip


@pytest.mark.parametrize("form_of", [PredictionForm, ReadingForm])
def test_every_kind_of_answer_is_chosen_as_a_browser_does(kata: Kata, form_of: type[forms.Form]) -> None:
    """A number is typed, yes or no and a choice are picked by their place in the list; "no" is an answer."""
    given: dict[str, Any] = {}

    def keep(**answers: Any) -> Sealed:
        given.update(answers)
        raise StoreLocked("predictions.sqlite3 is locked", "close what holds it")

    form = form_of(replace(kata, fields=FIELDS), keep)
    typed = {"number": {"value": " 3 "}, "either": {"index": 2}, "which": {"index": 1}}
    if form_of is PredictionForm:
        typed |= {"certainty": {"index": 1}, "because": {"value": "So."}}
    for name, state in typed.items():
        assert form.button.disabled
        if isinstance(form.controls[name], widgets.Dropdown):
            assert form.controls[name].label == "choose"
        form.controls[name].set_state(state)
    assert not form.button.disabled
    form.button._handle_button_msg(None, {"event": "click"}, [])

    assert {name: given[name] for name in ("number", "either", "which")} == {
        "number": 3, "either": False, "which": "a",
    }  # fmt: skip
    form.controls["either"].set_state({"index": 0})  # back to "choose"
    assert form.button.disabled
    assert "next: Is it?" in form.status.value


def test_the_reading_form_keeps_what_was_read_and_gives_nothing_away(
    shell: InteractiveShell, project: Path, kata: Kata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A blank observe cell stops at the form; what it keeps is read again by the call, and then checked."""
    monkeypatch.setenv("JPY_SESSION_NAME", "k03.ipynb")
    opened = open_kata(MODEL)
    opened.predict(**kata.author)
    for name in opened.runs:
        opened.run(name)
    shell.user_ns["kata"] = opened
    with capture_output() as captured:
        result = shell.run_cell("kata.observe()")
    shown, kept = (one.data for one in captured.outputs)
    box = box_of(shown)
    controls = [one for one in box.children if isinstance(one, widgets.Text)]
    [button] = [one for one in box.children if isinstance(one, widgets.Button)]

    assert (
        "NotRead: the rows of k03_missing_ack have not been read yet: use the form below"
        in texts(shown)[0].value
    )
    assert type(result.error_in_exec).__name__ == "NotRead"
    assert button.description == "Keep what I read"
    assert [one.value for one in controls] == [""] * 5
    words = words_of(saved(captured.outputs))
    assert "waits for what you read in the rows" in words
    assert (
        f"In your journal already: sealed payments_at_the_kill {kata.author['payments_at_the_kill']}" in words
    )
    assert "labkit-kept" in kept["text/html"]
    for control, typed in zip(controls, "10111", strict=True):
        assert button.disabled
        control.set_state({"value": typed})
    button.click()

    reading = opened.observe()
    assert list(reading.answers.values()) == [1, 0, 1, 1, 1]
    checked = opened.check()
    assert [one.field for one in checked.answers if one.misread] == [
        "payments_with_new_key", "exit_code_with_new_key",
    ]  # fmt: skip


def test_the_bands_are_the_journals() -> None:
    assert tuple(forms.BANDS.values()) == CERTAINTIES


def test_a_blank_cell_in_a_notebook_server_stops_and_shows_the_form(
    shell: InteractiveShell, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line stands in the form and nowhere else: as an error it would outlive what it asks for, in red."""
    monkeypatch.setenv("JPY_SESSION_NAME", "k03.ipynb")
    with capture_output() as captured:
        result = shell.run_cell(CALL.format(BLANK))
        after = shell.run_cell("pass")

    assert "use the form below, or fill in each ... and run the cell again" in str(result.error_in_exec)
    assert not result.success
    assert captured.stdout + captured.stderr == ""
    [form] = [one.data for one in captured.outputs if VIEW in one.data]
    [kept] = [one.data for one in captured.outputs if VIEW not in one.data]
    assert kept["text/plain"].startswith(PredictionForm.WAITS)
    line = "NotSealed: no prediction is sealed for k03_missing_ack: use the form below"
    assert [one.value for one in texts(form) if line in one.value]
    assert after.success


def test_another_error_after_a_form_shows_itself(
    shell: InteractiveShell, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What hides a form's own line hides nothing else, also where the cell caught the first one."""
    monkeypatch.setenv("JPY_SESSION_NAME", "k03.ipynb")
    caught = CALL.replace(
        "kata.predict({})", "try: kata.predict()\nexcept Exception: pass\nkata.run('killed')"
    )
    with capture_output() as captured:
        first = shell.run_cell(caught)
        second = shell.run_cell("kata.run('killed')")

    assert (first.success, second.success) == (False, False)
    line = "NotSealed: run killed kills a process: seal your prediction first"
    assert captured.stdout.count(line) == 2
    assert "Traceback" not in captured.stdout


@pytest.mark.parametrize("why", ["no server", "no ipywidgets"])
def test_without_a_server_or_widgets_it_is_the_line_alone(
    shell: InteractiveShell, project: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "no server":
        monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    else:
        monkeypatch.setenv("JPY_SESSION_NAME", "k03.ipynb")
        monkeypatch.delattr("labkit.ui.forms")
        monkeypatch.delitem(sys.modules, "labkit.ui.forms")
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with capture_output() as captured:
        result = shell.run_cell(CALL.format(BLANK))

    line = "no prediction is sealed for k03_missing_ack: fill in each ... and run the cell again"
    assert str(result.error_in_exec) == line
    assert captured.outputs == []


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("slug", katas.names(ROOT))
def test_every_kata_runs_with_ipywidgets_absent(
    slug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its import is blocked in the kernel; the solved lesson runs from the first cell to the last."""
    (tmp_path / "ipywidgets.py").write_text("raise ImportError('blocked')\n", encoding="utf-8")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    )
    kata = katas.load(ROOT / "katas" / slug)
    lesson = editions.lesson(kata)
    lesson.cells.append(new_code_cell("import ipywidgets"))
    executed = running.execute(lesson, kata.author, ROOT)

    assert executed.problem == "ImportError: blocked"  # the last cell's, which shows that it was
    [checked], [swept] = executed.results("checked"), executed.results("swept")
    assert checked["contract_held"]
    assert swept["passed"]
