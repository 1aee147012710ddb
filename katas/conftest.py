"""nbval runs the solved notebooks: in a throw-away workspace that goes with the test run."""

from __future__ import annotations

import os
import tempfile

import pytest

_workspace = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """The kernels that nbval starts, and stops with SIGKILL, inherit this."""
    folder = tempfile.TemporaryDirectory(prefix="lab-nbval-")
    config.stash[_workspace] = folder
    os.environ["LAB_WORKSPACE"] = folder.name


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    config.stash[_workspace].cleanup()
