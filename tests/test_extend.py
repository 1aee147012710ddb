"""README's "Extend it", done as a new user does it: save the block, sweep it, and spoil it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.grading.sweeping import Request, sweep
from labkit.harness.pool import Pool

README = Path(__file__).parents[1] / "README.md"
EACH_ONCE = {"charge order-1001": 1, "notify order-1001": 1, "ship order-1001": 1}


def the_block() -> str:
    """The handler's file as the section gives it."""
    section = README.read_text(encoding="utf-8").split("\n## Extend it\n")[1].split("\n## ")[0]
    [block] = re.findall(r"^```python\n(# ship\.py\n.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder with the file in it, and nothing else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ship.py").write_text(the_block(), encoding="utf-8")
    return tmp_path / "ship.py"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Warm processes for all tests of this file."""
    with Pool() as opened:
        yield opened


def test_the_command_of_the_section_passes(ship: Path) -> None:
    """`lab sweep ship.py`, typed beside the file."""

    done = subprocess.run(
        [sys.executable, "-m", "labkit.ui.cli", "sweep", "ship.py", "--json", "swept.json"], cwd=ship.parent,
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    swept = json.loads((ship.parent / "swept.json").read_text(encoding="utf-8"))
    assert (swept["passed"], set(swept["verdicts"])) == (True, {"exactly_one"})


def test_three_effects_happen_once_each_wherever_it_dies(ship: Path, pool: Pool) -> None:
    """At every statement and line of a run with three owners."""

    swept = sweep(Request("ship.py"), pool)

    assert swept.passed, swept.problems
    assert all(result.names == ("exactly_one",) * 3 for result in swept.all_results)
    assert all(result.happened == EACH_ONCE for result in swept.results)
    assert sum(point.label.split()[1] == "effect.committed" for point in swept.points) == 3


def test_it_passes_also_where_the_recovery_dies(ship: Path, pool: Pool) -> None:
    """Depth 2, every pair of named boundaries."""

    swept = sweep(Request("ship.py", depth="2", points=("boundary",)), pool)

    assert swept.passed, swept.problems


SPOILT = {
    "a new key in every run": ("submit(step.operation_id,", 'submit(f"ship-{world.now_ms}",', "duplicate"),
    "another step's checkpoint": ("if not step.checkpointed:", 'if not world.operation("notify").checkpointed:', "stuck"),
    "no intent before the effect": ("    # 2.", '    if world.operation("notify").checkpointed:\n        return "shipped"\n    # 2.', "lost"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "verdict"), SPOILT.values(), ids=SPOILT.keys())
def test_spoilt_it_is_caught(ship: Path, pool: Pool, old: str, new: str, verdict: str) -> None:
    """The sweep of the section bites."""

    text = ship.read_text(encoding="utf-8")
    assert text.count(old) == 1
    ship.write_text(text.replace(old, new), encoding="utf-8")

    swept = sweep(Request("ship.py", points=("boundary",)), pool)

    assert verdict in swept.verdicts
    assert not swept.passed
