"""The kill scrubber: a real trial where the slider is let go; the same by call, and without widgets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbconvert import HTMLExporter
from nbformat import v4

from labkit.errors import BadHandler, BadOption, StoreLocked, UnknownName
from labkit.harness.pool import Pool
from labkit.harness.workers import mutant_new_key, payment
from labkit.learning import progress
from labkit.observations import Sweep
from labkit.ui import point
from labkit.ui.kills import Kills
from labkit.ui.notebook import OpenKata, open_kata
from labkit.ui.point import SeenTrial

from .conftest import MODEL


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def swept(workspace: Path) -> OpenKata:
    """The model kata after a wrong answer was checked, once for all."""
    opened = open_kata(MODEL, workspace=workspace)
    assert isinstance(opened.check(mutant_new_key.resume), Sweep)
    return opened


@pytest.fixture
def checked(swept: OpenKata, workspace: Path) -> OpenKata:
    """The same, whatever another test has made of the answer, and looked at."""
    with progress.progress(workspace) as opened:
        opened.db.execute("DELETE FROM looked_at")
    source = Path(mutant_new_key.__file__).read_text(encoding="utf-8")
    (workspace / "answers" / f"{MODEL}.py").write_text(source, encoding="utf-8")
    return swept


@pytest.fixture
def watched(checked: OpenKata, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> OpenKata:
    """The same, in a notebook that somebody sits in front of."""
    monkeypatch.setenv("JPY_SESSION_NAME", f"notebooks/{MODEL}.ipynb")
    return checked


def test_there_must_be_an_answer(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"kata\.check\(resume\) first"):
        open_kata(MODEL, workspace=tmp_path).scrub()


def test_letting_go_runs_that_one_trial(watched: OpenKata) -> None:
    """It stands where it first goes wrong.  Before the COMMIT the resume pays once, after it twice."""
    scrubber: Any = watched.scrub()
    status, shown = [scrubber.status.value], [scrubber.shown.value]
    for control, number in ((scrubber.slider, 20), (scrubber.number, 0)):
        control.value = number
        status.append(scrubber.status.value)
        shown.append(scrubber.shown.value)

    assert scrubber.number.value == scrubber.slider.value
    assert [label for label, _ in scrubber.slider.options][::36] == ["0 no kill", "36 returned"]
    assert ["2 \u00d7 charge order-1001" in one for one in shown] == [True, False, False]
    assert "duplicate</span> at 21 effect.committed at line 15: it happened more than once" in status[0]
    assert "exactly_one</span> at 20 COMMIT at line 15" in status[1]
    assert "exactly_one</span> with no kill" in status[2]
    assert "lab trial k03_missing_ack --at 21" in shown[0]
    assert "✗  15" in shown[0]
    assert "order-1001:charge:retry-2" in shown[0]  # the second payment's row
    assert "at 21 effect.committed" in shown[0].partition("</title>")[0]  # the picture's text twin
    assert "inserted, never committed" in shown[1]
    assert "at the kill: <b>payments.effects</b>" in shown[1]


def test_what_was_seen_last_stays_without_widgets(watched: OpenKata, shell: InteractiveShell) -> None:
    """Beside the slider stands a plain output, brought up to date: a page that knows no widgets shows it alone."""
    scrubber: Any = watched.scrub()
    with capture_output(stdout=False, stderr=False) as captured:
        scrubber._ipython_display_()
        scrubber.slider.value = 20
    slider, kept, updated = captured.outputs

    assert updated.update
    assert updated.transient == kept.transient
    assert "at 21 effect.committed" in kept.data["text/html"]
    assert "SIGKILL, before 20 COMMIT" in updated.data["text/plain"]
    saved = [v4.new_output("display_data", data=one.data) for one in (slider, updated)]
    notebook = v4.new_notebook(cells=[v4.new_code_cell("kata.scrub()", outputs=saved)])
    html, _ = HTMLExporter().from_notebook_node(notebook)
    page = html.partition("<main>")[2]
    assert page.count("exactly_one</span> at 20 COMMIT") == page.count("<svg") == 1
    assert "To move the kill, run the cells above, then this one." in page
    assert slider.data["application/vnd.jupyter.widget-view+json"]["model_id"] not in page


def test_it_starts_where_it_was_left(watched: OpenKata, workspace: Path) -> None:
    """Also for a new kernel; an answer of other bytes has other points, and starts where it first goes wrong."""
    assert watched._swept is not None
    Kills(watched._stage, workspace, watched._swept).look(0)
    scrubber: Any = watched.scrub()
    with progress.progress(workspace) as opened:
        opened.put_look(MODEL, progress.Look("0" * 64, 3), 1)

    assert scrubber.slider.value == scrubber.number.value == 0
    assert "exactly_one</span> with no kill" in scrubber.status.value
    assert Kills(watched._stage, workspace, watched._swept).stands() == 21


def test_an_error_is_one_line_and_the_picture_before_it_fades(
    watched: OpenKata, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_schedule: object) -> None:
        raise StoreLocked("ledger.sqlite3 is locked", "close what holds it")

    scrubber: Any = watched.scrub()
    before = scrubber.shown.value
    monkeypatch.setattr(Pool, "one", lambda _pool, _task, *schedule: locked(schedule))
    scrubber.slider.value = 20

    assert "StoreLocked: ledger.sqlite3 is locked: close what holds it" in scrubber.status.value
    assert scrubber.shown.value == before
    assert "labkit-busy" in scrubber.shown._dom_classes


def test_only_the_answer_that_was_checked_is_killed(watched: OpenKata, workspace: Path) -> None:
    """An answer edited since has other crash points than the slider's."""
    scrubber: Any = watched.scrub()
    answer = workspace / "answers" / f"{MODEL}.py"
    answer.write_text(Path(payment.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    scrubber.slider.value = 22

    assert f"{MODEL}.py was edited since it was checked: check it again" in scrubber.status.value
    with pytest.raises(BadHandler, match="check it again"):
        watched.scrub(at=22)


def test_the_call_does_the_same_also_without_widgets(
    watched: OpenKata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "labkit.ui.scrubber", raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    found = watched.scrub(at=21)
    by_itself = watched.scrub()

    assert isinstance(found, SeenTrial)
    assert isinstance(by_itself, SeenTrial)
    assert found.result.names == ("duplicate",)
    assert point.bundle(found) == point.bundle(by_itself)
    assert point.text(found) == point.text(by_itself)
    with pytest.raises(BadOption, match="there is no point 99: choose from 1 to 36"):
        watched.scrub(at=99)
    for wrong in ("x", 1.5, True):
        with pytest.raises(BadOption, match="give the number of a crash point"):
            watched.scrub(at=wrong)


def test_nobody_there_to_move_it_gives_one_trial(checked: OpenKata) -> None:
    found = checked.scrub()

    assert isinstance(found, SeenTrial)
    assert [point.number for point in found.result.schedule] == [21]
