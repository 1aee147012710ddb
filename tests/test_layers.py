"""The layers: who may import whom, read from the import lines of every file.

Imports inside functions and under `TYPE_CHECKING` count too: they are dependencies all the same.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BASE = (
    "labkit.errors",
    "labkit.actions",
    "labkit.values",
    "labkit.canonical",
    "labkit.boundaries",
    "labkit.observations",
)
CLOCK_AND_CHANCE = ("time", "datetime", "random", "secrets", "uuid")
PARALLEL = ("subprocess", "multiprocessing", "concurrent", "threading", "asyncio", "pty")
OUTSIDE = ("katas", "notebooks", "tests")
DISPLAY = ("IPython", "ipywidgets", "typer", "click", "rich", "drawsvg", "altair", "vl_convert", "jinja2")


@dataclass(frozen=True)
class Layer:
    """What a set of modules may import.

    `modules` are names; a name stands for itself and everything below it.
    `may` lists what of labkit may be imported, and `never` what of the world may not.
    `only` closes the world: then nothing but `may`, `only` and, with "stdlib" in it, the standard library.
    """

    name: str
    modules: tuple[str, ...]
    may: tuple[str, ...]
    never: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


UP_TO_PROTOCOL = (*BASE, "labkit.stores", "labkit.providers", "labkit.protocol")
UP_TO_HARNESS = (*UP_TO_PROTOCOL, "labkit.harness")

# The first layer that holds a module judges it, so the special ones stand before the general.
LAYERS = (
    Layer("base", ("labkit", *BASE), may=BASE, only=("stdlib", "rfc8785")),
    Layer("stores", ("labkit.stores",), (*BASE, "labkit.stores"), CLOCK_AND_CHANCE),
    Layer("providers", ("labkit.providers",), (*BASE, "labkit.stores", "labkit.providers")),
    Layer(
        "pure protocol",
        ("labkit.protocol.recovery", "labkit.protocol.states"),
        (*BASE, "labkit.protocol.states"),
        ("sqlite3", "os", *CLOCK_AND_CHANCE, *PARALLEL),
    ),
    Layer("protocol", ("labkit.protocol",), UP_TO_PROTOCOL, ("os", *CLOCK_AND_CHANCE, *PARALLEL)),
    # Workers are handlers: written with the learner's surface, and killed by the rest of the harness.
    Layer("workers", ("labkit.harness.workers",), (*UP_TO_PROTOCOL, "labkit.kata", "labkit.harness.workers")),
    Layer("harness", ("labkit.harness",), UP_TO_HARNESS),
    Layer(
        "learner's surface",
        ("labkit.kata",),
        (*BASE, "labkit.stores", "labkit.providers", "labkit.harness.world"),
    ),
    Layer("learning", ("labkit.learning",), (*BASE, "labkit.stores", "labkit.learning"), PARALLEL),
    Layer(
        "grading", ("labkit.grading",), (*UP_TO_HARNESS, "labkit.kata", "labkit.learning", "labkit.grading")
    ),
    Layer("ui", ("labkit.ui", "labkit.pytest_plugin", "labkit.__main__"), ("labkit",)),
    Layer("katas' checks", ("katas.*.checks",), (*BASE, "labkit.learning")),
    Layer("katas' scenario", ("katas.*.scenario",), (*UP_TO_HARNESS, "labkit.kata")),
)


def within(module: str, names: tuple[str, ...]) -> bool:
    """Whether `module` is one of `names` or lies below one."""
    return any(module == name or module.startswith(name + ".") for name in names)


def module_name(path: Path, root: Path) -> str:
    """The dotted name of the file at `path`; a package is named by its folder."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> Layer | None:
    """The layer that judges `module`, or None for one that no layer holds."""
    parts = module.split(".")
    if parts[0] == "katas" and len(parts) > 2:
        module = f"katas.*.{parts[2]}"
    # `labkit` names the package's own __init__ alone; otherwise it would hold everything.
    for layer in LAYERS:
        if module in layer.modules or within(module, tuple(m for m in layer.modules if m != "labkit")):
            return layer
    return None


def imports(tree: ast.AST, module: str, is_package: bool, root: Path) -> Iterator[tuple[int, str]]:
    """Every module that `tree` imports, anywhere in it, as (line, absolute name).

    `from labkit import x` is `labkit.x` where that is a module and `labkit` where it is a name in it.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, name) for name in imported_from(node, module, is_package, root))
        elif isinstance(node, ast.Call) and is_dynamic_import(node):
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield node.lineno, argument.value


def is_dynamic_import(call: ast.Call) -> bool:
    """Whether `call` is `import_module(...)` or `__import__(...)` with an argument."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("import_module", "__import__") and bool(call.args)


def imported_from(node: ast.ImportFrom, module: str, is_package: bool, root: Path) -> Iterator[str]:
    """The absolute names of the modules that one `from ... import ...` brings in."""
    base = node.module or ""
    if node.level:
        package = module.split(".") if is_package else module.split(".")[:-1]
        package = package[: len(package) - (node.level - 1)]
        base = ".".join([*package, base] if base else package)
    for alias in node.names:
        child = root.joinpath(*base.split("."), alias.name)
        is_module = child.with_suffix(".py").is_file() or child.is_dir()
        yield f"{base}.{alias.name}" if is_module else base


def is_allowed(imported: str, layer: Layer) -> bool:
    """Whether a module of `layer` may import `imported`."""
    top = imported.partition(".")[0]
    if top == "labkit":
        return imported == "labkit" or within(imported, layer.may)
    if within(imported, layer.never) or top in OUTSIDE:
        return False
    if top in DISPLAY or top == "pandas":
        return layer.name == "ui"
    if layer.only:
        return top in layer.only or ("stdlib" in layer.only and top in sys.stdlib_module_names)
    return True


def checked_files(root: Path) -> list[Path]:
    """The files that the table speaks of."""
    katas = [path for name in ("scenario", "checks") for path in root.glob(f"katas/*/{name}.py")]
    return sorted([*root.glob("labkit/**/*.py"), *katas])


def faults(root: Path) -> list[str]:
    """Each import under `root` that the table forbids, as one readable line; empty when all is well."""
    found = []
    for path in checked_files(root):
        module = module_name(path, root)
        place = path.relative_to(root).as_posix()
        layer = layer_of(module)
        if layer is None:
            found.append(f"{place}: belongs to no layer; give it one in the table")
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for line, imported in imports(tree, module, path.name == "__init__.py", root):
            if not is_allowed(imported, layer):
                found.append(f"{place}:{line}: {layer.name} may not import {imported}")
    return found


def test_every_import_keeps_to_the_layers() -> None:
    """Data flows one way: stores, providers, protocol, harness, learning, grading, ui."""

    assert faults(ROOT) == []


def test_there_is_something_to_check() -> None:
    """A renamed folder must not turn this file into a pass."""

    assert ROOT / "labkit" / "__init__.py" in checked_files(ROOT)


def plant(root: Path, place: str, source: str) -> None:
    """Write `source` at `place` in a small tree that has the real packages in it."""
    for package in ("stores", "providers", "protocol", "harness", "learning", "grading", "ui"):
        (root / "labkit" / package).mkdir(parents=True, exist_ok=True)
    for name in (
        "labkit/errors.py",
        "labkit/protocol/recovery.py",
        "labkit/harness/world.py",
        "labkit/kata.py",
    ):
        (root / name).touch()
    target = root / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source, encoding="utf-8")


FORBIDDEN = {
    "base looks up": ("labkit/values.py", "import labkit.stores", "labkit.stores"),
    "base takes a library": ("labkit/errors.py", "import pandas", "pandas"),
    "the package itself is base": (
        "labkit/__init__.py",
        "from labkit.harness import trials",
        "labkit.harness",
    ),
    "stores read a clock": ("labkit/stores/ledger.py", "from time import time", "time"),
    "stores draw lots": ("labkit/stores/ledger.py", "import random", "random"),
    "providers know the protocol": (
        "labkit/providers/file.py",
        "from ..protocol import recovery",
        "labkit.protocol.recovery",
    ),
    "protocol starts a process": ("labkit/protocol/resume.py", "import subprocess", "subprocess"),
    "protocol asks the system": ("labkit/protocol/resume.py", "import os.path", "os.path"),
    "the decision opens a store": ("labkit/protocol/recovery.py", "import sqlite3", "sqlite3"),
    "the decision knows a store": (
        "labkit/protocol/recovery.py",
        "from labkit import stores",
        "labkit.stores",
    ),
    "harness judges": (
        "labkit/harness/trials.py",
        "from labkit.learning.check import judge",
        "labkit.learning.check",
    ),
    "a function hides it": (
        "labkit/learning/check.py",
        "def f():\n    import labkit.harness\n",
        "labkit.harness",
    ),
    "a type hides it": (
        "labkit/learning/check.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..protocol.recovery import Decision\n",
        "labkit.protocol.recovery",
    ),
    "a string hides it": (
        "labkit/learning/check.py",
        "from importlib import import_module\nimport_module('labkit.harness.trials')\n",
        "labkit.harness.trials",
    ),
    "learning starts a process": ("labkit/learning/check.py", "import subprocess", "subprocess"),
    "grading draws": ("labkit/grading/engine.py", "from labkit.ui import report", "labkit.ui"),
    "an answer reaches the harness": (
        "labkit/kata.py",
        "from labkit.harness import trials",
        "labkit.harness",
    ),
    "labkit imports a kata": ("labkit/ui/cli.py", "import katas.k01_a.scenario", "katas.k01_a.scenario"),
    "only ui draws": ("labkit/harness/sweeps.py", "import rich.progress", "rich.progress"),
    "a check starts runs": (
        "katas/k01_a/checks.py",
        "from labkit.harness.world import World",
        "labkit.harness.world",
    ),
    "a scenario judges": ("katas/k01_a/scenario.py", "from labkit.learning import check", "labkit.learning"),
    "a relative import in a package": (
        "labkit/stores/__init__.py",
        "from ..protocol import x",
        "labkit.protocol",
    ),
}


@pytest.mark.parametrize(("place", "source", "imported"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_planted_bad_import_is_caught(tmp_path: Path, place: str, source: str, imported: str) -> None:
    """Each line of the table bites, and the fault names the file and what it imported."""

    plant(tmp_path, place, source)

    [fault] = faults(tmp_path)
    assert fault.startswith(f"{place}:")
    assert fault.endswith(f"may not import {imported}")


ALLOWED = {
    "base": ("labkit/values.py", "from labkit.errors import LabError\nimport json, rfc8785"),
    "stores, relatively": (
        "labkit/stores/ledger.py",
        "from ..errors import LabError\nfrom . import sqlite\nimport sqlite3",
    ),
    "the decision and its states": ("labkit/protocol/recovery.py", "from .states import State\nimport enum"),
    "protocol": (
        "labkit/protocol/attempt.py",
        "from labkit.providers import base\nfrom labkit.stores import journal",
    ),
    "harness": (
        "labkit/harness/trials.py",
        "import subprocess, time, os\nfrom labkit.protocol import recovery",
    ),
    "the learner's surface": ("labkit/kata.py", "from labkit.harness.world import World"),
    "ui": ("labkit/ui/cli.py", "import typer, rich\nfrom labkit.grading import engine\nimport labkit"),
    "the plugin": ("labkit/pytest_plugin.py", "import pytest\nfrom labkit.grading import engine"),
    "a check": ("katas/k01_a/checks.py", "from labkit.learning.check import verdict"),
    "a scenario": ("katas/k01_a/scenario.py", "from labkit.harness.world import World\nimport time"),
}


@pytest.mark.parametrize(("place", "source"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_the_table_allows_passes(tmp_path: Path, place: str, source: str) -> None:
    """The test is no stricter than the table."""

    plant(tmp_path, place, source)

    assert faults(tmp_path) == []


def test_a_module_outside_every_layer_is_named(tmp_path: Path) -> None:
    """A new folder gets a place in the table before it gets imports."""

    plant(tmp_path, "labkit/extras/thing.py", "import json")

    assert faults(tmp_path) == ["labkit/extras/thing.py: belongs to no layer; give it one in the table"]
