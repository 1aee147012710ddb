"""What a lesson imports: the gate before a kill, the runs, both checks, and how they look."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from labkit.errors import BadKata, BadPrediction, NotRead, NotSealed, UnknownName
from labkit.harness.workers import payment
from labkit.learning.katas import Kata
from labkit.learning.readings import Unread
from labkit.ui import formatters
from labkit.ui.checked import RESULT_TYPE, bundle
from labkit.ui.notebook import OpenKata, open_kata, series, show

from .conftest import MODEL


@pytest.fixture
def opened(project: Path) -> OpenKata:
    """The model kata, opened as a learner opens it."""
    return open_kata(MODEL)


@pytest.fixture
def whole(kata: Kata) -> dict[str, Any]:
    """A whole prediction; one of its answers is wrong."""
    return dict(kata.author)


def children_of(workspace: Path) -> list[Path]:
    """The worlds that runs have left: each is a folder in which a child was started."""
    return sorted(workspace.glob("runs/*/*/world.json"))


def test_a_kill_waits_for_the_prediction(opened: OpenKata, tmp_path: Path) -> None:
    for name in ("killed", "new_key"):
        with pytest.raises(NotSealed, match="kills a process: seal your prediction first"):
            opened.run(name)

    assert children_of(tmp_path / "workspace") == []


def test_a_run_without_a_kill_waits_for_nothing(opened: OpenKata, tmp_path: Path) -> None:
    seen = opened.run("uninterrupted")

    assert seen.observation.verdicts[0].name == "exactly_one"
    assert seen.folder == tmp_path / "workspace" / "runs" / MODEL / "uninterrupted-1"
    assert (seen.folder / "ledger.sqlite3").is_file()


def test_a_blank_prediction_says_what_to_do(opened: OpenKata, whole: dict[str, Any]) -> None:
    with pytest.raises(NotSealed, match=r"fill in each \.\.\. and run the cell again"):
        opened.predict(**dict.fromkeys(whole, ...))


def test_half_a_prediction_seals_nothing(opened: OpenKata, whole: dict[str, Any]) -> None:
    with pytest.raises(BadPrediction, match="not answered yet: certainty, because"):
        opened.predict(**whole | {"certainty": ..., "because": ...})
    with pytest.raises(NotSealed):
        opened.run("killed")


def test_a_sealed_prediction_opens_the_run_also_after_a_restart(
    opened: OpenKata, whole: dict[str, Any]
) -> None:
    sealed = opened.predict(**whole)
    again = open_kata(MODEL)

    assert again.predict(**dict.fromkeys(whole, ...)) == sealed
    assert again.run("killed").observation.runs[0].returncode == -9


def test_the_same_answer_is_no_second_prediction(opened: OpenKata, whole: dict[str, Any]) -> None:
    first = opened.predict(**whole)

    assert opened.predict(**whole) == first
    assert opened.predict(**whole | {"payments_after_resume": 2}).prediction_id == 2


READ = {  # as the rows have it
    "payments_at_the_kill": 1, "checkpoints_at_the_kill": 0, "payments_after_resume": 1, "payments_with_new_key": 2,
    "exit_code_with_new_key": 0,
}  # fmt: skip


def run_all(opened: OpenKata, **read: Any) -> None:
    """Carry out every run and read its rows."""
    for name in opened.runs:
        opened.run(name)
    opened.observe(**READ | read)


def test_the_check_names_what_was_wrong(opened: OpenKata, whole: dict[str, Any]) -> None:
    opened.predict(**whole | {"payments_after_resume": 2})
    opened.predict(**whole)
    run_all(opened)

    checked = opened.check()

    wrong = [one for one in checked.answers if not one.right]
    assert [(one.field, one.predicted, one.observed) for one in wrong] == [("payments_with_new_key", 1, 2)]
    assert "by its key and by nothing else" in wrong[0].why
    assert "order-1001:charge:retry-2" in wrong[0].row
    assert (checked.right, checked.passed, checked.earlier) == (4, True, 1)


def test_a_check_asks_for_the_runs_first(opened: OpenKata, whole: dict[str, Any]) -> None:
    with pytest.raises(NotSealed):
        opened.check()
    opened.predict(**whole)
    opened.run("uninterrupted")

    with pytest.raises(UnknownName, match="run killed has not been carried out"):
        opened.check()


def test_the_check_waits_for_a_reading(opened: OpenKata, whole: dict[str, Any]) -> None:
    """Each refusal is the one line that says what comes next; a kept reading opens the check, also later."""
    with pytest.raises(NotSealed, match="nothing to read: seal your prediction first"):
        opened.observe(**READ)
    opened.predict(**whole)
    with pytest.raises(UnknownName, match="run uninterrupted has not been carried out"):
        opened.observe(**READ)
    for name in opened.runs:
        opened.run(name)
    with pytest.raises(NotRead, match=r"have not been read yet: say what they say in kata\.observe first"):
        opened.check()
    with pytest.raises(NotRead, match=r"have not been read yet: fill in each \.\.\. and run the cell again"):
        opened.observe(**dict.fromkeys(READ, ...))
    with pytest.raises(BadPrediction, match="not answered yet: exit_code_with_new_key"):
        opened.observe(**READ | {"exit_code_with_new_key": ...})

    kept = opened.observe(**READ)
    assert open_kata(MODEL).observe(**dict.fromkeys(READ, ...)) == kept
    assert opened.check().misread == 0

    opened.predict(**whole | {"payments_after_resume": 2})  # another prediction asks for another reading
    with pytest.raises(NotRead):
        opened.check()


def test_what_was_misread_is_said_before_what_was_mispredicted(
    opened: OpenKata, whole: dict[str, Any]
) -> None:
    opened.predict(**whole)
    run_all(opened, payments_with_new_key=1, payments_after_resume=2)

    checked = opened.check()
    text = bundle(checked)["text/plain"]

    assert (checked.right, checked.misread, checked.passed) == (4, 2, True)
    assert "4 of 5 right, at 67-80 % certainty. 3 of 5 read right." in text
    misread = "Misread: you read 1, and the rows say 2. Look at payments.effects."
    assert 0 < text.index(misread) < text.index("by its key and by nothing else")
    assert bundle(checked)[RESULT_TYPE]["answers"][3] == {
        "field": "payments_with_new_key", "predicted": 1, "read": 1, "observed": 2, "right": False,
    }  # fmt: skip


def test_nobody_reads_where_the_prediction_is_a_parameter(project: Path, whole: dict[str, Any]) -> None:
    injected = open_kata(MODEL, whole)
    injected.predict()
    for name in injected.runs:
        injected.run(name)

    assert injected.observe(**dict.fromkeys(READ, ...)) == Unread(MODEL)
    checked = injected.check()
    assert not checked.read
    assert "read right" not in bundle(checked)["text/plain"]
    assert bundle(checked)[RESULT_TYPE]["misread"] is None


def test_an_exercise_is_judged_by_kills(opened: OpenKata) -> None:
    """Without any prediction: writing the answer is not behind the gate."""

    sweep = opened.check(payment.resume)

    assert sweep.passed
    assert sweep.verdicts == {"exactly_one"}


def test_a_second_run_takes_a_new_folder(opened: OpenKata) -> None:
    first, second = opened.run("uninterrupted"), opened.run("uninterrupted")

    assert [seen.folder.name for seen in (first, second)] == ["uninterrupted-1", "uninterrupted-2"]


def test_the_command_runs_the_child_again(opened: OpenKata) -> None:
    seen = opened.run("uninterrupted")

    again = subprocess.run(
        seen.command.replace("python ", f"{sys.executable} ", 1), shell=True, capture_output=True, text=True
    )

    assert (again.returncode, again.stdout) == (0, '"already_committed"\n')


def test_tables_are_pandas_with_every_column(opened: OpenKata) -> None:
    seen = opened.run("uninterrupted")
    effects = seen.table("payments", "effects")

    assert effects.loc[1, "operation_id"] == "order-1001:charge"
    assert len(effects.columns) == 12
    for wrong in (("till", "effects"), ("payments", "sins"), ("payments", "effects", "never")):
        with pytest.raises(UnknownName):
            seen.table(*wrong)


def test_a_prediction_as_parameter_leaves_the_learners_journal_alone(
    project: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_WORKSPACE")
    injected = open_kata(MODEL, whole)
    injected.predict(**dict.fromkeys(whole, ...))

    assert injected.run("killed").observation.outcome == "judged"
    assert not (project / "workspace").exists()


def test_a_parameter_that_is_not_whole_is_refused_at_once(project: Path, whole: dict[str, Any]) -> None:
    for wrong, message in (
        (whole | {"more": 1}, "does not ask for `more`"),
        ({}, "not answered"),
        (3, "no table"),
    ):
        with pytest.raises(BadPrediction, match=message):
            open_kata(MODEL, wrong)  # type: ignore[arg-type]


def test_an_error_of_ours_is_one_line(opened: OpenKata) -> None:
    with pytest.raises(NotSealed) as raised:
        opened.run("killed")

    assert raised.value._render_traceback_() == [  # type: ignore[attr-defined]
        "NotSealed: run killed kills a process: seal your prediction first"
    ]


def test_an_unknown_kata_and_a_broken_one_are_typed(project: Path, kata: Kata) -> None:
    with pytest.raises(UnknownName, match="kata k99 is not here"):
        open_kata("k99")
    (kata.folder / "checks.py").write_text("CONTRACT = {}\n", encoding="utf-8")
    with pytest.raises(BadKata, match=r"k03_missing_ack/checks\.py lacks `observed`"):
        open_kata(MODEL)


def test_the_source_shown_is_the_real_one() -> None:
    shown = show(payment.pay)

    [(place, text)] = shown.parts
    assert place == "labkit/harness/workers/payment.py"
    assert text in Path(payment.__file__).read_text(encoding="utf-8")
    with pytest.raises(UnknownName, match="no source to show"):
        show(len)


# --- how it looks ---------------------------------------------------------------------------


def looks_of(shell: InteractiveShell, value: object) -> dict[str, Any]:
    formatters.register(shell)
    data, _metadata = shell.display_formatter.format(value)
    return dict(data)


def test_everything_has_a_text_twin_and_nothing_that_changes(
    shell: InteractiveShell, opened: OpenKata, whole: dict[str, Any], tmp_path: Path
) -> None:
    sealed = opened.predict(**whole)
    run_all(opened)
    for value in (
        sealed,
        opened.observe(),
        Unread(MODEL),
        opened.run("killed"),
        opened.check(),
        opened.check(payment.resume),
        show(payment.pay),
        series(),
    ):
        look = looks_of(shell, value)
        assert "labkit.ui" not in look["text/plain"]  # not the repr of a value
        assert len(look) >= 2
        everything = json.dumps(look)
        for secret in (str(tmp_path), str(os.getpid()), "/tmp/", str(sealed.sealed_at_ms), "0x"):
            assert secret not in everything


def test_a_run_shows_picture_and_rows(
    shell: InteractiveShell, opened: OpenKata, whole: dict[str, Any]
) -> None:
    opened.predict(**whole)

    html = looks_of(shell, opened.run("new_key"))["text/html"]

    assert html.startswith("<svg ")
    assert html.count("at the kill: <b>payments.effects</b>") == 1
    assert "<td" in html
    assert "order-1001:charge:retry-2" in html


def test_what_a_learner_writes_cannot_become_html(
    shell: InteractiveShell, opened: OpenKata, whole: dict[str, Any]
) -> None:
    sealed = opened.predict(**whole | {"because": "<img src=x onerror=alert(1)> `<b>`"})
    run_all(opened)

    for value in (sealed, opened.check()):
        html = looks_of(shell, value)["text/html"]
        assert "<img" not in html
        assert "<b>`" not in html
        assert "&lt;img" in html


def test_programs_get_the_results_too(
    shell: InteractiveShell, opened: OpenKata, whole: dict[str, Any]
) -> None:
    opened.predict(**whole)
    run_all(opened)

    checked = looks_of(shell, opened.check())[RESULT_TYPE]
    swept = looks_of(shell, opened.check(payment.resume))[RESULT_TYPE]

    assert (checked["kind"], checked["right"], checked["asked"], checked["contract_held"]) == (
        "checked",
        4,
        5,
        True,
    )
    assert (swept["kind"], swept["passed"]) == ("swept", True)


def test_importing_labkit_brings_nothing_heavy() -> None:
    """The notebook's modules are asked for by name; the package alone stays light."""

    code = "import sys, labkit; print([m for m in ('pandas', 'IPython', 'drawsvg') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "[]\n"
