"""One engine, three doors: notebook, terminal and class see the same sweep of the same answer."""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from labkit.grading.judging import Judge
from labkit.grading.sandbox import SandboxedPool
from labkit.learning.katas import Kata
from labkit.observations import Sweep
from labkit.ui.cli import main
from labkit.ui.notebook import open_kata

from .conftest import MODEL

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(400)]


def function_in_a_cell(source: str) -> Callable[..., Any]:
    """The exercise as a notebook's cell leaves it."""
    name = f"<cell {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)
    found: Callable[..., Any] = names["resume"]
    return found


def without_folders(sweep: dict[str, Any]) -> dict[str, Any]:
    """A sweep's JSON in which files are names: each door keeps the answer in a folder of its own.

    Which recoveries were shared is left out: a ledger in another process leaves no journal of its own beside it.
    """
    for result in (sweep["control"], *sweep["results"]):
        del result["same_bytes_as"]
    for worker in ("first", "resume"):
        sweep[worker] = [Path(sweep[worker][0]).name, sweep[worker][1]]
    sweep["sources"] = {Path(file).name: text for file, text in sweep["sources"].items()}
    return sweep


def plain(sweep: Sweep) -> dict[str, Any]:
    return without_folders(json.loads(json.dumps(asdict(sweep))))


@pytest.mark.parametrize("name", ["new_key", "gives_up", "believes_the_request"])
def test_the_three_doors_agree(
    name: str, kata: Kata, project: Path, capsys: pytest.CaptureFixture[str],
    system_program: Callable[..., str],
) -> None:  # fmt: skip
    system_program("bwrap")
    source = (kata.folder / "mutants" / f"{name}.py").read_text(encoding="utf-8")

    notebook = open_kata(MODEL).check(function_in_a_cell(source))
    assert isinstance(notebook, Sweep)
    capsys.readouterr()
    assert main(["check", MODEL, "--json"]) == 1
    terminal = json.loads(capsys.readouterr().out)
    with SandboxedPool("bwrap", 2) as pool:
        judge = Judge(pool, [kata])
        graded = judge.swept(judge.stages[MODEL], source)

    assert plain(notebook) == plain(graded)
    assert without_folders(terminal) == plain(graded)
