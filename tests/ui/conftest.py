"""What the tests of the user interface share: a project of one's own, and the model kata."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from labkit.grading.stage import Stage, load_stage
from labkit.learning import katas
from labkit.learning.katas import Kata
from labkit.ui import editions

ROOT = Path(__file__).parents[2]
MODEL = "k03_missing_ack"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that holds the model kata alone, and may be written to; its workspace too."""
    root = tmp_path / "project"
    shutil.copytree(
        ROOT / "katas" / MODEL, root / "katas" / MODEL, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "katas" / "start_here", root / "katas" / "start_here")
    (root / "notebooks").mkdir()
    for name in (f"{MODEL}.ipynb", "00_start_here.ipynb"):
        shutil.copy(ROOT / "notebooks" / name, root / "notebooks" / name)
    monkeypatch.setenv("LAB_ROOT", str(root))
    monkeypatch.setenv("LAB_WORKSPACE", str(tmp_path / "workspace"))
    return root


@pytest.fixture
def kata(project: Path) -> Kata:
    """The model kata in that project."""
    return katas.find(MODEL, project)


@pytest.fixture
def solution(kata: Kata) -> str:
    """The author's answer to its exercise."""
    [cell] = [cell for cell in editions.lesson(kata).cells if "exercise" in cell.metadata.tags]
    return str(cell.source) + "\n"


@pytest.fixture(scope="session")
def model() -> Stage:
    """The model kata of this repository, loaded."""
    return load_stage(katas.load(ROOT / "katas" / MODEL))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    """A real IPython that keeps no history outside of this test."""
    settings = Config()
    settings.HistoryManager.enabled = False
    yield InteractiveShell.instance(config=settings, ipython_dir=str(tmp_path / "ipython"))
    InteractiveShell.clear_instance()
