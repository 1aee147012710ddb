"""Sizes: a file is read in one sitting, a function is seen on one screen.

A longer one is allowed only by name, with the reason why splitting it would read worse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FILE_LINES = 220
FUNCTION_LINES = 40  # from `def` to the last line, without the docstring
PARAMETERS = 5  # besides self and cls

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Place -> why it may be longer: "labkit/x.py" for a file, "labkit/x.py:Class.function" for a function.
ALLOWED: dict[str, str] = {
    "labkit/harness/crashpoints.py": "it is put into foreign programs, so it is one file and imports nothing of ours",
}


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function, bool]]:
    """Every function in `tree`, nested ones too: its dotted name, its node, whether a class holds it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield prefix + node.name, node, isinstance(tree, ast.ClassDef)
        if isinstance(node, (Function, ast.ClassDef)):
            yield from functions(node, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from functions(node, prefix)


def line_count(function: Function) -> int:
    """Lines from `def` to the end, without the docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def parameter_count(function: Function, is_method: bool) -> int:
    """Parameters besides self and cls; `*args` and `**kwargs` count as one each."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
    bound = 1 if is_method and named and not static else 0
    return len(named) - bound + (arguments.vararg is not None) + (arguments.kwarg is not None)


def is_command_line(place: str) -> bool:
    """Whether `place` holds commands, whose parameters are the options a person may give."""
    return place.startswith(("labkit/ui/cli", "labkit/ui/commands"))


def too_large(root: Path) -> dict[str, str]:
    """Each place under `root` that is over a limit, and by what."""
    found = {}
    for path in sorted(root.glob("labkit/**/*.py")):
        place = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > FILE_LINES:
            found[place] = f"{lines} lines, more than {FILE_LINES}"
        for name, function, is_method in functions(ast.parse(text, filename=str(path))):
            if (lines := line_count(function)) > FUNCTION_LINES:
                found[f"{place}:{name}"] = f"{lines} lines, more than {FUNCTION_LINES}"
            if is_command_line(place):
                continue
            if (count := parameter_count(function, is_method)) > PARAMETERS:
                found[f"{place}:{name}"] = f"{count} parameters, more than {PARAMETERS}"
    return found


def test_files_and_functions_stay_small() -> None:
    """Split what is too long, or give the reason in ALLOWED."""

    found = {place: why for place, why in too_large(ROOT).items() if place not in ALLOWED}

    assert found == {}


def test_every_allowance_is_still_needed_and_has_a_reason() -> None:
    """An allowance for what has become small, or for nothing, is dropped."""

    large = too_large(ROOT)

    assert [place for place in ALLOWED if place not in large] == []
    assert [place for place, reason in ALLOWED.items() if len(reason.split()) < 5] == []


def test_there_is_something_to_measure() -> None:
    """A renamed folder must not turn this file into a pass."""

    assert list(ROOT.glob("labkit/**/*.py"))


def lines_of(count: int) -> str:
    """A function's body of `count` lines."""
    return "".join(f"    x{i} = {i}\n" for i in range(count))


PLANTED = {
    "a long file": ("x = 1\n" * 221, {"labkit/a.py": "221 lines, more than 220"}),
    "a long function": (f"def f():\n{lines_of(40)}", {"labkit/a.py:f": "41 lines, more than 40"}),
    "a function on the limit": (f"def f():\n{lines_of(39)}", {}),
    "a docstring is free": (f'def f():\n    """One.\n\n    Two.\n    """\n{lines_of(39)}', {}),
    "a method": ("class A:\n    def f(self, a, b, c, d, e): ...\n", {}),
    "a wide method": (
        "class A:\n    def f(self, a, b, c, *, d, **e): ...\n    def g(self, a, b, c, d, e, f): ...\n",
        {"labkit/a.py:A.g": "6 parameters, more than 5"},
    ),
    "a wide static method": (
        "class A:\n    @staticmethod\n    def f(a, b, c, d, e, f): ...\n",
        {"labkit/a.py:A.f": "6 parameters, more than 5"},
    ),
    "a nested one": (
        "if True:\n    def f():\n        async def g(a, b, c, d, e, *f): ...\n",
        {"labkit/a.py:f.g": "6 parameters, more than 5"},
    ),
    "a frozen value": (
        "@dataclass(frozen=True)\nclass A:\n    a: int\n    b: int\n    c: int\n    d: int\n    e: int\n    f: int\n",
        {},
    ),
}


@pytest.mark.parametrize(("source", "expected"), PLANTED.values(), ids=PLANTED.keys())
def test_the_measure_counts_what_it_says(tmp_path: Path, source: str, expected: dict[str, str]) -> None:
    """A planted file over a limit is found, one on the limit is not."""

    (tmp_path / "labkit").mkdir()
    (tmp_path / "labkit" / "a.py").write_text(source, encoding="utf-8")

    assert too_large(tmp_path) == expected


def test_commands_may_take_many_options(tmp_path: Path) -> None:
    """An option is a parameter there, and a command has as many as it needs."""

    (tmp_path / "labkit" / "ui").mkdir(parents=True)
    (tmp_path / "labkit" / "ui" / "cli.py").write_text(
        "def sweep(a, b, c, d, e, f, g): ...\n", encoding="utf-8"
    )

    assert too_large(tmp_path) == {}
