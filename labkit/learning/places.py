"""Where things lie: the project, its katas, and the learner's own workspace.

`LAB_ROOT` names another project folder, `LAB_WORKSPACE` another workspace: tests, `lab run` and CI
use a throw-away one, so that the learner's journal holds the learner's predictions and no others.
"""

from __future__ import annotations

import os
from pathlib import Path

import labkit
from labkit.errors import UnknownName


def project_folder() -> Path:
    """The folder that holds `katas/`.

    Raises:
        UnknownName: neither `LAB_ROOT` nor the place that labkit was installed from has one.
    """
    named = os.environ.get("LAB_ROOT")
    folder = Path(named).absolute() if named else Path(labkit.__file__).absolute().parents[1]
    if not (folder / "katas").is_dir():
        raise UnknownName(f"{folder} has no folder katas", "set LAB_ROOT to the project's folder")
    return folder


def workspace_folder() -> Path:
    """The learner's workspace: predictions, answers and runs.  It need not exist yet."""
    named = os.environ.get("LAB_WORKSPACE")
    return Path(named).absolute() if named else project_folder() / "workspace"


def relative(path: Path) -> str:
    """A path as a page may show it: within the project or labkit's own folder, else its name alone."""
    for base in (project_folder(), Path(labkit.__file__).absolute().parents[1]):
        if path.absolute().is_relative_to(base):
            return path.absolute().relative_to(base).as_posix()
    return path.name
