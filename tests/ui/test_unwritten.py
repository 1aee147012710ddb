"""A bare exercise is called what it is, in the same words: in the notebook's map, the terminal's and `lab check`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labkit.grading import engine
from labkit.grading.stage import load_stage
from labkit.learning import katas
from labkit.observations import Sweep
from labkit.ui import crashmap, exercises, formatters, told, unwritten

from .conftest import ROOT


def bare(slug: str, folder: Path) -> Sweep:
    """The exercise swept as it is handed out."""
    kata = katas.load(ROOT / "katas" / slug)
    answer = folder / "answer.py"
    answer.write_text(exercises.starter(kata), encoding="utf-8")
    return engine.grade(load_stage(kata), answer)


@pytest.mark.parametrize(
    ("slug", "name"),
    [("k03_missing_ack", "resume"), ("k14_the_allowance", "spend")],
    ids=["resume", "inside"],
)
def test_the_map_says_what_the_check_says(slug: str, name: str, tmp_path: Path) -> None:
    """k14: the function that runs is given, and the gap lies in another one."""
    sweep = bare(slug, tmp_path)
    line = f"`{name}` is not written yet."

    assert told.fell_short(sweep)[0] == line
    assert crashmap.text(sweep).splitlines()[1] == line
    html = formatters.swept(sweep)["text/html"]
    first_words = html.partition("This sweep is not sound")[0]
    assert f">{name}</code> is not written yet.</p>" in first_words


def test_only_a_gap_is_called_so(tmp_path: Path) -> None:
    """Not where another error came as well, nor where the source has no such function."""
    sweep = bare("k14_the_allowance", tmp_path)
    written = dict.fromkeys(sweep.sources, "def resume(world):\n    pass\n")

    assert unwritten.line(sweep)
    assert not unwritten.line(replace(sweep, sources=written))
    assert not unwritten.line(replace(sweep, sources={}))
    assert not unwritten.line(replace(sweep, control=replace(sweep.control, explanation="KeyError: 'x'")))
    assert not unwritten.line(
        replace(sweep, sources=dict.fromkeys(sweep.sources, "#!/bin/sh\nif [ -f x ]; then\n"))
    )
