"""One moment, one name: a learner reads "at the kill" wherever the rows of that moment stand."""

from __future__ import annotations

import pytest

from labkit.errors import UnknownName
from labkit.observations import Observation, ProcessRun, Row, Snapshot
from labkit.ui.seen import Seen

from .conftest import ROOT

SHOWN = ("labkit/ui/**/*.py", "labkit/ui/templates/*", "katas/*/*.py", "katas/*/*.toml", "docs/*.md", "*.md")


def test_what_people_read_has_no_second_name_for_it() -> None:
    files = [path for pattern in SHOWN for path in ROOT.glob(pattern) if path.is_file()]
    found = {path.name for path in files if "at the interruption" in path.read_text(encoding="utf-8")}

    assert {"formatters.py", "lesson.py", "first_ten_minutes.md", "crashmap.html"} <= {
        one.name for one in files
    }
    assert found == set()


def test_the_rows_are_asked_for_by_the_same_name() -> None:
    """`interruption` is what the files call it, and what notebooks said that were handed out before."""
    killed, final = (rows_of(effects) for effects in (0, 1))
    run = ProcessRun("first", "", 1, -9, "effect.committed", None, "", "", 1.0)
    later = ProcessRun("resume", "", 2, 0, None, "done", "", "", 1.0)
    seen = Seen("killed", Observation("k", "kill", (), (run, later), killed, final), ())

    assert seen.rows("kill") is killed
    assert seen.rows("interruption") is killed  # type: ignore[arg-type]
    assert seen.rows("end") is final
    assert [cut.label for cut in seen.story.cuts] == ["at the kill", "at the end"]
    with pytest.raises(UnknownName, match='choose "kill" or "end"'):
        seen.rows("begin")  # type: ignore[arg-type]


def rows_of(effects: int) -> Snapshot:
    paid: Row = {
        "committed_at_ms": 2000,
        "currency": "USD",
        "kind": "charge",
        "amount_minor": 1,
        "operation_id": "o",
    }
    return {"payments": {"effects": [paid] * effects, "invocations": []}, "journal": {"checkpoints": []}}
