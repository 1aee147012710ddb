"""Where the project and the workspace lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.errors import UnknownName
from labkit.learning import places

ROOT = Path(__file__).parents[2]


def test_the_project_is_where_labkit_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_ROOT", raising=False)
    monkeypatch.delenv("LAB_WORKSPACE", raising=False)

    assert places.project_folder() == ROOT
    assert places.workspace_folder() == ROOT / "workspace"


def test_both_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "katas").mkdir()
    monkeypatch.setenv("LAB_ROOT", str(tmp_path))
    monkeypatch.setenv("LAB_WORKSPACE", str(tmp_path / "mine"))

    assert (places.project_folder(), places.workspace_folder()) == (tmp_path, tmp_path / "mine")


def test_a_folder_without_katas_is_no_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAB_ROOT", str(tmp_path))

    with pytest.raises(UnknownName, match="has no folder katas"):
        places.project_folder()


def test_a_page_shows_no_absolute_path(tmp_path: Path) -> None:
    assert places.relative(ROOT / "labkit" / "kata.py") == "labkit/kata.py"
    assert places.relative(tmp_path / "elsewhere.py") == "elsewhere.py"
