"""An answer is the whole of its cell, and has to stand alone."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from labkit.errors import BadHandler
from labkit.learning.katas import Kata
from labkit.ui import answers

ALONE = """\
import json
from pathlib import Path as P

LIMIT: int = 3


class Helper:
    count = LIMIT

    def more(self):
        return [self.count + n for n in range(LIMIT) if n]


def twice(x, *rest, y=LIMIT, **named):
    global TOTAL
    TOTAL = x + y
    try:
        return json.dumps([x, *rest])
    except ValueError as error:
        return str(error)


def resume(world):
    total = 0
    for total in range(3):
        with open(P("x")) as file:
            if (line := file.readline()):
                total += len(line)

    def inner():
        nonlocal total
        return total + twice(1) + Helper().more()[0] + TOTAL

    return inner, __name__
"""


def test_a_cell_that_stands_alone_is_taken_as_it_is() -> None:
    answers.require_alone(ALONE, "resume")


FOREIGN = {
    "a name of another cell": ("def resume(world):\n    return kata\n", "uses `kata` from another cell"),
    "a default of another cell": ("def resume(world, x=limit):\n    return x\n", "uses `limit`"),
    "a decorator of another cell": ("@wrapped\ndef resume(world):\n    return 1\n", "uses `wrapped`"),
    "an annotation of another cell": ("def resume(world: World):\n    return 1\n", "uses `World`"),
    "in a nested function": (
        "def resume(world):\n    def f():\n        return x\n    return f\n",
        "uses `x`",
    ),
    "in a class": ("class A:\n    y = z\n\n\ndef resume(world):\n    return A\n", "uses `z`"),
    "a magic": ("get_ipython().run_line_magic('time', '')\n\n\ndef resume(world):\n    return 1\n", "magic"),
}


@pytest.mark.parametrize(("source", "message"), FOREIGN.values(), ids=FOREIGN.keys())
def test_a_cell_that_needs_another_is_refused(source: str, message: str) -> None:
    with pytest.raises(BadHandler, match=message):
        answers.require_alone(source, "resume")


NO_PYTHON = {
    "a parameter that is global": "def resume(world):\n    global world\n",
    "nonlocal in a module": "nonlocal x\n\n\ndef resume(world):\n    return 1\n",
    "too deep for the compiler": f"def resume(world):\n    return 1\n\n\nx = {'-' * 4000}1\n",
}


@pytest.mark.parametrize("source", NO_PYTHON.values(), ids=NO_PYTHON)
def test_what_only_the_compiler_refuses_is_no_python(source: str) -> None:
    """A class of answers goes on behind it."""
    with pytest.raises(BadHandler, match="the exercise's cell is no Python"):
        answers.require_alone(source, "resume")


def test_scopes_in_scopes_are_looked_through_however_deep() -> None:
    deep = f"def resume(world):\n    return 1\n\n\nx = {'lambda: ' * 1500}"

    answers.require_alone(deep + "0\n", "resume")
    with pytest.raises(BadHandler, match="uses `elsewhere`"):
        answers.require_alone(deep + "elsewhere\n", "resume")


def in_a_cell(source: str, name: str = "resume") -> Any:
    """What a cell defines, its source kept where IPython keeps it."""
    place = "/tmp/ipykernel_1/2.py"  # never on disk
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    names: dict[str, Any] = {}
    exec(compile(source, place, "exec"), names)
    return names[name]


def test_the_whole_cell_is_taken(kata: Kata) -> None:
    source = "import json\n\n\ndef resume(world):\n    return json.dumps(1)\n"

    assert answers.source_of(in_a_cell(source), kata) == source


NO_ANSWERS: dict[str, tuple[Callable[[], Any], str]] = {
    "another function": (lambda: in_a_cell("def other(world):\n    return 1\n", "other"), "check got other"),
    "a class": (lambda: in_a_cell("class resume:\n    pass\n"), "check got resume"),
    "a value": (lambda: 3, "check got int"),
    "a builtin": (lambda: len, "check got len"),
}


@pytest.mark.parametrize(("make", "message"), NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_what_is_no_answer_is_refused(kata: Kata, make: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadHandler, match=message):
        answers.source_of(make(), kata)


def test_a_source_that_is_gone_is_asked_for_again(kata: Kata) -> None:
    handler = in_a_cell("def resume(world):\n    return 1\n")
    del linecache.cache["/tmp/ipykernel_1/2.py"]

    with pytest.raises(BadHandler, match="run the exercise's cell again"):
        answers.source_of(handler, kata)


IN_IPYTHON = {
    "alone": ("import math\n\n\ndef resume(world):\n    return math.pi\n", None),
    "a name of an earlier cell": ("def resume(world):\n    return x\n", "uses `x` from another cell"),
    "a line magic": ("%time y = 1\ndef resume(world):\n    return 1\n", "magic"),
    "a shell line": ("!true\ndef resume(world):\n    return 1\n", "magic"),
    "a cell magic": ("%%time\ndef resume(world):\n    return 1\n", "without a %% magic"),
}


@pytest.mark.parametrize(("cell", "message"), IN_IPYTHON.values(), ids=IN_IPYTHON.keys())
def test_ipython_keeps_what_is_needed(
    shell: InteractiveShell, kata: Kata, cell: str, message: str | None
) -> None:
    """The source as a real IPython keeps it, magics turned into calls."""

    shell.run_cell("x = 1\n")
    shell.run_cell(cell, store_history=True)

    if message is None:
        assert answers.source_of(shell.user_ns["resume"], kata) == cell
        return
    with pytest.raises(BadHandler, match=message):
        answers.source_of(shell.user_ns["resume"], kata)


def test_an_answer_is_saved_and_an_earlier_one_is_kept(kata: Kata, tmp_path: Path) -> None:
    for source in ("first = 1\n", "second = 2\n", "second = 2\n", "first = 1\n", "third = 3\n"):
        path = answers.save(source, kata, tmp_path)
        assert path.read_text(encoding="utf-8") == source

    folder = tmp_path / "answers"
    assert path == folder / "k03_missing_ack.py"
    assert sorted(file.read_text(encoding="utf-8") for file in folder.glob("earlier/*.py")) == [
        "first = 1\n",
        "second = 2\n",
    ]
    assert sorted(file.name for file in folder.iterdir()) == ["earlier", "k03_missing_ack.py"]
