"""The kill scrubber: a real trial where the slider is let go; the same by call, and without widgets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadOption, UnknownName
from labkit.harness.workers import mutant_new_key, payment
from labkit.observations import PointResult, Sweep
from labkit.ui import point
from labkit.ui.notebook import OpenKata, open_kata

from .conftest import MODEL

pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")  # of ipywidgets' own


@pytest.fixture
def checked(project: Path) -> OpenKata:
    """The model kata after a wrong answer was checked."""
    opened = open_kata(MODEL)
    swept = opened.check(mutant_new_key.resume)
    assert isinstance(swept, Sweep)
    return opened


def test_there_must_be_an_answer(project: Path) -> None:
    with pytest.raises(UnknownName, match=r"kata\.check\(resume\) first"):
        open_kata(MODEL).scrub()


def test_letting_go_runs_that_one_trial(checked: OpenKata) -> None:
    """Before the COMMIT the resume pays once, after it twice."""
    scrubber: Any = checked.scrub()
    shown = []
    for number in (0, 20, 21):
        scrubber.slider.value = number
        shown.append(scrubber.shown.value)

    assert (scrubber.slider.min, scrubber.slider.max) == (0, 36)
    assert ["2 \u00d7 charge order-1001" in one for one in shown] == [False, False, True]
    assert "no crash" in shown[0]
    assert "20 COMMIT at line 15" in shown[1]
    assert "lab trial k03_missing_ack --at 21" in shown[2]
    assert "duplicate" in shown[2]
    assert "✗  15" in shown[2]
    assert scrubber._repr_mimebundle_()["text/plain"].startswith("Here was")


def test_what_is_killed_is_the_answer_of_now(checked: OpenKata, tmp_path: Path) -> None:
    """Not what the sweep found: an answer that was mended meanwhile passes where it failed."""
    scrubber: Any = checked.scrub()
    answer = tmp_path / "workspace" / "answers" / f"{MODEL}.py"
    answer.write_text(Path(payment.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    scrubber.slider.value = 21

    assert "exactly_one" in scrubber.shown.value


def test_the_call_does_the_same_also_without_widgets(
    checked: OpenKata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "labkit.ui.scrubber", raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    found = checked.scrub(at=21)
    unkilled = checked.scrub()

    assert isinstance(found, PointResult)
    assert found.names == ("duplicate",)
    assert "happened  2 \u00d7 charge order-1001" in point.bundle(found)["text/plain"]
    assert isinstance(unkilled, PointResult)
    assert unkilled.schedule == ()
    with pytest.raises(BadOption, match="there is no point 99: choose from 1 to 36"):
        checked.scrub(at=99)
