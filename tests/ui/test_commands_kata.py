"""`lab run` and `lab list`: judged by what the notebooks leave behind, in a folder of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.learning.katas import Kata
from labkit.ui.cli import main

from .conftest import MODEL


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`lab` in a process of its own, so that stderr holds what a person would see."""
    return subprocess.run(
        [sys.executable, "-m", "labkit.ui.cli", *arguments], capture_output=True, text=True, timeout=110
    )


def test_a_run_leaves_notebook_and_report_and_spoils_nothing(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    found = run("run", "k03", "--out", str(out))

    assert (found.returncode, found.stderr) == (0, "")
    assert re.search(rf"{MODEL} +4 right, 1 wrong +held +pass", found.stdout)
    assert "payments_with_new_key" not in found.stdout
    assert sorted(path.name for path in out.iterdir()) == [f"{MODEL}.ipynb", "report.html"]
    assert not (tmp_path / "workspace").exists()  # nobody's predictions


def test_the_executed_notebook_is_the_solved_one(
    project: Path, kata: Kata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the byte, also from within a notebook: nobody sits in front of the one that runs."""
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/mine.ipynb")
    assert main(["run", MODEL, "--out", str(tmp_path / "out")]) == 0

    executed = (tmp_path / "out" / f"{MODEL}.ipynb").read_text(encoding="utf-8")
    assert executed == (kata.folder / "solved.ipynb").read_text(encoding="utf-8")


def test_values_show_only_when_asked_for(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", MODEL, "--out", str(tmp_path / "one"), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert main(["run", MODEL, "--out", str(tmp_path / "two"), "--json", "--reveal"]) == 0
    revealed = json.loads(capsys.readouterr().out)

    [one] = plain["katas"]
    assert (one["kata"], one["right"], one["asked"], one["passed"]) == (MODEL, 4, 5, True)
    assert "answers" not in one
    [wrong] = [answer for answer in revealed["katas"][0]["answers"] if not answer["right"]]
    assert (wrong["field"], wrong["predicted"], wrong["observed"]) == ("payments_with_new_key", 1, 2)


def test_the_report_needs_nothing_from_outside(project: Path, tmp_path: Path) -> None:
    assert main(["run", MODEL, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")

    assert page.count("<svg ") == 4
    assert "https://" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\(", page)


def test_a_used_folder_is_refused_and_left_alone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))

    assert main(["run", MODEL, "--out", str(tmp_path)]) == 2
    assert "choose a new folder" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_an_unknown_kata_makes_no_folder(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", MODEL, "k99", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"kata k99 is not here: choose one of {MODEL}\n"
    assert not (tmp_path / "out").exists()


def spoil(kata: Kata, file: str, old: str, new: str) -> None:
    text = (kata.folder / file).read_text(encoding="utf-8")
    assert old in text
    (kata.folder / file).write_text(text.replace(old, new), encoding="utf-8")


BROKEN = {
    "a broken contract": ("checks.py", '"killed": "exactly_one"', '"killed": "lost"', "broken +pass", ""),
    "a wrong solution": (
        "lesson.py",
        "    found = world.payments.read",
        '    return "done"\n    found = world.payments.read',
        "held +fail",
        "",
    ),
    "a cell that raises": ("lesson.py", "kata.check()", "1 / 0", "not checked", "ZeroDivisionError"),
    "a check left out": ("lesson.py", "kata.check()\n", "kata\n", "not checked", "left no single result"),
    "a kernel that dies": (
        "lesson.py",
        "kata.check()\n",
        "import os; os._exit(0)\n",
        "not checked",
        "Dead|died|dead",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "row", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_what_falls_short_exits_1_and_says_what(
    kata: Kata, tmp_path: Path, file: str, old: str, new: str, row: str, problem: str
) -> None:
    """Papermill calls the cells after a dead kernel completed; nobody asks it."""

    spoil(kata, file, old, new)

    found = run("run", MODEL, "--out", str(tmp_path / "out"))

    assert found.returncode == 1
    assert re.search(rf"{MODEL} +.*{row}", found.stdout)
    assert re.search(problem, found.stdout)
    assert (tmp_path / "out" / "report.html").is_file()


def test_list_shows_the_series_and_makes_no_workspace(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == [
        {
            "kata": MODEL,
            "title": "The payment committed, then the worker died. Pay again?",
            "part": 1,
            "minutes": 20,
            "predictions": 0,
            "standing": "new",
        }
    ]
    assert not (tmp_path / "workspace").exists()


def test_list_counts_predictions(project: Path, kata: Kata, capsys: pytest.CaptureFixture[str]) -> None:
    from labkit.ui.notebook import open_kata

    open_kata(MODEL).predict(**kata.author)

    assert main(["list"]) == 0
    assert re.search(rf"{MODEL} .* predicted", capsys.readouterr().out)


def test_a_trial_shows_timeline_rows_and_verdict(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --at the points are listed; with it one real trial, in words and as JSON."""
    wrong = str(project / "katas" / MODEL / "mutants" / "new_key.py")

    assert main(["trial", "k03", "--answer", wrong]) == 0
    listed = capsys.readouterr().out
    assert main(["trial", "k03", "--at", "21", "--answer", wrong]) == 1
    shown = capsys.readouterr().out
    assert main(["trial", "k03", "--at", "20", "--answer", wrong, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert re.search(r"\n5 +the line +15 +result = world\.payments\.submit", listed)
    assert re.search(r"\n20 +COMMIT +15 *\n", listed)
    assert shown.startswith("k03_missing_ack: 21 effect.committed at line 15\n\nworker: first run\n")
    assert "worker: SIGKILL, at 21 effect.committed\nat the kill: payments 1 effect" in shown
    assert "at the kill, journal.checkpoints:\nno row" in shown
    assert re.search(r"at the end, payments\.effects:\n.*\n.*\n +2 order-1001:charge:retry-2 +4000", shown)
    assert "D duplicate at 21" in shown
    assert [run["returncode"] for run in found["runs"]] == [-9, 0]
    assert [len(found["rows"][look]["payments"]["effects"]) for look in ("at_the_kill", "at_the_end")] == [
        0,
        1,
    ]
    assert found["passed"]
