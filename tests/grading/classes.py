"""A class made up: right answers, each mutant, empty, broken and hostile ones, and what each must come to."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SLUG = "k03_missing_ack"
KATA = ROOT / "katas" / SLUG
HARMLESS_TO_TIME = (  # hostile answers that are over soon, so that a whole class is
    "leaves_by_os_exit", "patches_builtins", "patches_json", "writes_the_journal", "prints_a_verdict", "symlink",
    "imports_the_reference", "leaves_by_sys_exit",
)  # fmt: skip


def solution() -> str:
    """The solution of the exercise, read from its lesson."""
    found = re.search(
        r'tags=\["exercise"\]\n(.*?)\n# %%', (KATA / "lesson.py").read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    return found[1] + "\n"


def notebook(source: str | None) -> str:
    """The learner's notebook with an answer in it."""
    found: dict[str, Any] = json.loads((ROOT / "notebooks" / f"{SLUG}.ipynb").read_text(encoding="utf-8"))
    for cell in found["cells"]:
        if cell["id"] == "k03-missing-ack-exercise" and source is not None:
            cell["source"] = source
    return json.dumps(found)


def kinds() -> Iterator[tuple[str, str, str, str, bool]]:
    """(kind, file, text, outcome, whether the exercise earns everything) of one hand-in after the other."""
    mutants = itertools.cycle(sorted((KATA / "mutants").glob("*.py")))
    hostile = itertools.cycle(HARMLESS_TO_TIME)
    while True:
        yield "right", f"{SLUG}.ipynb", notebook(solution()), "judged", True
        mutant = next(mutants)
        yield mutant.stem, "k03.py", mutant.read_text(encoding="utf-8"), "judged", False
        yield "untouched", f"{SLUG}.ipynb", notebook(None), "not_attempted", False
        yield "broken", f"{SLUG}.ipynb", notebook("def resume(world:"), "malformed", False
        yield "empty", "notes.txt", "", "not_attempted", False
        name = next(hostile)
        source = (Path(__file__).parent / "hostile" / f"{name}.py").read_text(encoding="utf-8")
        yield name, "k03.py", source, "", False


def make(folder: Path, count: int) -> dict[str, tuple[str, bool]]:
    """Fill a folder with a class of `count`; returns what each learner must come to."""
    expected = {}
    for number, (kind, file, text, outcome, is_whole) in zip(range(count), kinds(), strict=False):
        learner = f"{number:03d} {kind}"
        (folder / learner).mkdir(parents=True)
        (folder / learner / file).write_text(text, encoding="utf-8")
        expected[learner] = (outcome, is_whole)
    return expected
