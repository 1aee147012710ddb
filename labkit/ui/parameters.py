"""What papermill gives a notebook: its parameters, and a workspace that goes with the run."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

from IPython.core.getipython import get_ipython

from labkit.errors import BadOption

_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def throw_away_workspace() -> Path:
    """A workspace of this process, removed at its end."""
    folder = tempfile.TemporaryDirectory(prefix="lab-workspace-")
    _KEPT.append(folder)  # it is removed with the last reference
    return Path(folder.name)


def refuse_unknown_parameters(shell: Any) -> None:
    """Papermill only warns of a parameter that a notebook does not have; here it is an error.

    Raises:
        BadOption: the injected cell sets something else than `predictions`.
    """
    for cell in shell.user_ns.get("In", []):
        if cell.startswith("# Parameters\n"):  # how papermill begins the cell that it injects
            for node in ast.parse(cell).body:
                names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
                if unknown := [one for one in names if one != "predictions"]:
                    raise BadOption(
                        f"unknown parameter `{unknown[0]}`", "a kata's only parameter is `predictions`"
                    )


def takes_widgets() -> bool:
    """Whether somebody may sit in front of this notebook and move things, and there is ipywidgets."""
    # A notebook server names the session; papermill, nbval and a bare kernel have none.
    watched = get_ipython() is not None and "JPY_SESSION_NAME" in os.environ
    return watched and importlib.util.find_spec("ipywidgets") is not None
