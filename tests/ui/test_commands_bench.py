"""`lab bench`: what it is asked, and what it says where a comparison is not to be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.ui.cli import main


def test_a_part_that_it_does_not_know_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--only", "speed"]) == 2
    assert "--only speed is not known: choose from harness, run, class, nbgrader" in capsys.readouterr().err


def test_without_nbgrader_its_rows_are_left_out_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "measures.json"

    assert main(["bench", "--only", "nbgrader", "--nbgrader", str(tmp_path), "--json", str(out)]) == 0
    assert f"no comparison with nbgrader: {tmp_path} has no program nbgrader" in capsys.readouterr().err
    assert json.loads(out.read_text(encoding="utf-8")) == {"measures": []}
    assert main(["bench", "--only", "nbgrader", "--nbgrader", str(tmp_path), "--json", str(out)]) == 2


@pytest.mark.slow
def test_a_submission_is_measured_against_its_kills_without_labkit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How slow it is says nothing here; that both sides do their work does."""
    out = tmp_path / "measures.json"

    assert main(["bench", "--only", "class", "--rounds", "1", "--json", str(out)]) == 0
    [found] = json.loads(out.read_text(encoding="utf-8"))["measures"]
    assert found["name"].startswith("a submission in the sandbox, ")
    assert found["labkit_s"] > 0
    assert found["ratio"] == round(found["labkit_s"] / found["floor_s"], 3)
