"""A small kata's folder for the tests of learning."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.learning import katas
from labkit.learning.katas import Kata

KATA = """
title = "Did it happen?"
part = 1
minutes = 20
points = 10
boundary = "effect.committed"
exercise = "resume"
does_not_show = "Much."
hints = ["Look.", "Look again."]

[[fields]]
name = "effects"
type = "integer"
label = "Effects at the end"

[[fields]]
name = "finished"
type = "boolean"
label = "Whether it says that it finished"

[[fields]]
name = "who"
type = "choice"
choices = ["ledger", "journal"]
label = "Who knows"

[[misconceptions]]
field = "effects"
answer = 2
because = "One call, one effect."

[author]
effects = 1
finished = true
who = "journal"
certainty = "<67"
because = "A guess."
"""

ANSWERS = {"effects": 1, "finished": True, "who": "ledger", "certainty": ">80", "because": "The rows stay."}


@pytest.fixture
def kata_folder(tmp_path: Path) -> Path:
    """A kata's folder that is whole, to be spoilt."""
    folder = tmp_path / "katas" / "k01_small"
    folder.mkdir(parents=True)
    (folder / "kata.toml").write_text(KATA, encoding="utf-8")
    for name in ("lesson.py", "scenario.py", "checks.py"):
        (folder / name).write_text("", encoding="utf-8")
    return folder


@pytest.fixture
def kata(kata_folder: Path) -> Kata:
    """The same, loaded."""
    return katas.load(kata_folder)
