"""What importing labkit costs: nothing that a killed child or a command line would have to wait for."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = ("pandas", "numpy", "IPython", "matplotlib", "altair", "drawsvg", "plotly", "jinja2", "typer", "rich")
LIMIT_MS = 50.0


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a line of Python in a fresh interpreter."""
    command = [sys.executable, "-I", *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def import_ms(module: str) -> float:
    """Milliseconds that `import module` takes, all that it imports included, as `-X importtime` counts it."""
    report = python(f"import {module}", "-X", "importtime").stderr.splitlines()
    cumulative_us = {line.split("|")[2].strip(): int(line.split("|")[1]) for line in report if line.count("|") == 2
                     and line.split("|")[1].strip().isdigit()}  # fmt: skip
    return cumulative_us[module] / 1000


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in `sys.modules` after a statement, in a fresh interpreter."""
    names = python(f"{statement}; import sys, json; print(json.dumps(list(sys.modules)))").stdout
    return {name.partition(".")[0] for name in json.loads(names)}


def test_import_labkit_takes_less_than_50_ms() -> None:
    """The best of five, since another process may have had the processor in any one."""

    assert min(import_ms("labkit") for _ in range(5)) < LIMIT_MS


def test_import_labkit_loads_nothing_heavy() -> None:
    """No table, no notebook, no picture."""

    assert set() == loaded_by("import labkit").intersection(HEAVY)


def test_what_a_killed_child_imports_is_light_too() -> None:
    """Every trial by `exec` waits for this import."""

    assert set() == loaded_by("import labkit.harness.child, labkit.kata").intersection(HEAVY)


def test_a_heavy_import_would_be_noticed() -> None:
    """The two measures above bite."""

    assert "pandas" in loaded_by("import pandas")
    assert import_ms("json") > 0
