"""Crash points for a program that knows nothing of labkit, put into its interpreter as it starts.

This folder stands first on PYTHONPATH, so Python imports this file before the program.  It takes its
order from the environment and away from it, so that Python programs which the program starts are
left alone; a sitecustomize that was there before runs first.  Standard library only, and nothing
here is imported by name from labkit: the program may run under another Python than labkit does.
"""

from __future__ import annotations

import atexit
import importlib.machinery
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
ORDER = "LABKIT_CRASH_ORDER"


def main() -> None:
    """Step out of the way, let the other sitecustomize run, then watch."""
    order = os.environ.pop(ORDER, None)
    step_aside()
    run_the_other()
    if order is not None:
        watch(json.loads(order))


def step_aside() -> None:
    """Take this folder off the path, here and for the program's own children."""
    here = str(HERE)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    others = [
        entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", here)
    ]
    if others:
        os.environ["PYTHONPATH"] = os.pathsep.join(others)
    else:
        os.environ.pop("PYTHONPATH", None)


def run_the_other() -> None:
    """Run the sitecustomize that this one stands in front of, under its own name."""
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if found is None or found.loader is None:
        return
    module = importlib.util.module_from_spec(found)
    sys.modules["sitecustomize"] = module
    found.loader.exec_module(module)


def watch(order: dict[str, Any]) -> None:
    """Seed chance and clock, and number the crash points from here to the program's end."""
    crashpoints, determinism = beside("crashpoints"), beside("determinism")
    report = crashpoints.report_to(order["report_fd"])
    points = crashpoints.CrashPoints(
        order["file"], tuple(order["points"]), order["at"], order["fault"], report
    )
    points.evidence = frozenset(order["evidence"])

    def at_end() -> None:
        points.boundary("returned")
        points.check()

    report({"started": True})
    determinism.install(order["seed"], order["now_ms"], report)
    atexit.register(at_end)  # the first to be registered is the last to run
    points.install()


def beside(name: str) -> ModuleType:
    """A module of the folder above, loaded by place."""
    found = importlib.util.spec_from_file_location(f"_labkit_{name}", HERE.parent / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


main()
