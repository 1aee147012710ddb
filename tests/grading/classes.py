"""Classes made up: right answers, mutants, empty, broken and hostile ones, and what each must come to."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SLUG = "k03_missing_ack"
KATA = ROOT / "katas" / SLUG
HOSTILE = Path(__file__).parent / "hostile"
MISSPELT = """from labkit.kata import World, atomik


def resume(world: World) -> str:
    return "done"
"""  # Python's message about it names a folder that is made anew for each run
QUICK = ("prints_a_verdict",)  # hostile answers that are soon over


@dataclass(frozen=True)
class HandIn:
    """What one learner hands in for one kata, and what it must come to.

    `verdict` is one that its crash points must show; `outcome` is empty where several will do.
    """

    kind: str
    slug: str
    file: str
    text: str
    outcome: str = "judged"
    is_whole: bool = False
    verdict: str = ""


def slugs() -> list[str]:
    """Every kata of the series."""
    return sorted(path.name for path in (ROOT / "katas").glob("k[0-9][0-9]_*") if (path / "mutants").is_dir())


def solution(slug: str = SLUG) -> str:
    """The solution of a kata's exercise, read from its lesson."""
    text = (ROOT / "katas" / slug / "lesson.py").read_text(encoding="utf-8")
    found = re.search(r'tags=\["exercise"\]\n(.*?)\n# %%', text, re.DOTALL)
    assert found is not None
    return found[1] + "\n"


def notebook(source: str | None, slug: str = SLUG, cell_type: str = "code") -> str:
    """The learner's notebook with an answer in it; None leaves the cell as it was handed out."""
    found: dict[str, Any] = json.loads((ROOT / "notebooks" / f"{slug}.ipynb").read_text(encoding="utf-8"))
    [cell] = [cell for cell in found["cells"] if "exercise" in cell["metadata"].get("tags", ())]
    cell["cell_type"] = cell_type
    if source is not None:
        cell["source"] = source
    return json.dumps(found)


def right(slug: str) -> HandIn:
    """A notebook with the solution in it."""
    return HandIn("right", slug, f"{slug}.ipynb", notebook(solution(slug), slug), is_whole=True)


def wrong(slug: str) -> Iterator[HandIn]:
    """Each mutant of a kata, as an answer file; it says itself which verdict catches it."""
    for path in sorted((ROOT / "katas" / slug / "mutants").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        [verdict] = [
            ast.literal_eval(node.value) for node in ast.parse(text).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CAUGHT_BY"
        ]  # fmt: skip
        yield HandIn(path.stem, slug, f"{slug}.py", text, verdict=verdict)


def unrun() -> list[HandIn]:
    """What is reported without being run."""
    return [
        HandIn("untouched", SLUG, f"{SLUG}.ipynb", notebook(None), "not_attempted"),
        HandIn("broken", SLUG, f"{SLUG}.ipynb", notebook("def resume(world:"), "malformed"),
        HandIn("empty", SLUG, "notes.txt", "", "not_attempted"),
        HandIn("retyped", SLUG, f"{SLUG}.ipynb", notebook("what to do?", cell_type="markdown"), "tampered"),
    ]


def hostile(*names: str) -> Iterator[HandIn]:
    """Hostile answers, all of them where none is named."""
    for path in sorted(HOSTILE.glob("*.py")):
        if not names or path.stem in names:
            yield HandIn(path.stem, SLUG, "k03.py", path.read_text(encoding="utf-8"), outcome="")


def small(count: int) -> list[HandIn]:
    """A class of the model kata with every kind in it, of which most answers are soon graded."""
    misspelt = HandIn("misspelt", SLUG, "k03.py", MISSPELT)
    everything = [right(SLUG), *wrong(SLUG), misspelt, *hostile(*QUICK)]
    return [*everything, *islice(cycle(unrun()), count - len(everything))]


def whole(count: int) -> list[HandIn]:
    """Every kata's solution and each of its mutants, whatever is hostile, and right ones up to `count`."""
    everything = [*unrun(), *hostile()]
    for slug in slugs():
        everything += [right(slug), *wrong(slug)]
    more = cycle([right(slug) for slug in slugs()])
    return [*everything, *islice(more, max(0, count - len(everything)))]


def hand_in(folder: Path, handed_in: list[HandIn]) -> dict[str, HandIn]:
    """Put a class into a folder, by learner; learners of every kind alternate."""
    learners = {f"{number:03d} {one.kind}": one for number, one in enumerate(handed_in)}
    for learner, one in learners.items():
        (folder / learner).mkdir(parents=True)
        (folder / learner / one.file).write_text(one.text, encoding="utf-8")
    return learners
