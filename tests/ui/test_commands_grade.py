"""`lab grade` and `lab submit` as processes: a class in, tables and pages out."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labkit.learning.katas import Kata
from labkit.ui.cli import main
from labkit.ui.notebook import open_kata

from .conftest import MODEL

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]
NAMES = {"good": 'Zoë, "the" first', "mutant": "=cmd|' C calc'!A0", "empty": "x\ny", "odd": "(1) [2] + 3"}


def lab(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "labkit.ui.cli", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(lab(*arguments), capture_output=True, text=True, timeout=400)


@pytest.fixture
def students(kata: Kata, project: Path, solution: str, tmp_path: Path) -> Path:
    """A class: a whole notebook with a prediction, a mutant, an empty folder, a broken file."""
    folder = tmp_path / "class"
    for name in NAMES.values():
        (folder / name).mkdir(parents=True)
    notebook = json.loads((project / "notebooks" / f"{MODEL}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] == "k03-missing-ack-exercise":
            cell["source"] = solution
    (folder / NAMES["good"] / "kata.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    open_kata(MODEL, workspace=tmp_path / "hers").predict(**kata.author)
    shutil.copy(tmp_path / "hers" / "predictions.sqlite3", folder / NAMES["good"])
    shutil.copy(kata.folder / "mutants" / "new_key.py", folder / NAMES["mutant"] / "k03.py")
    (folder / NAMES["odd"] / f"{MODEL}.ipynb").write_text("{", encoding="utf-8")
    return folder


def table(out: Path) -> dict[str, dict[str, str]]:
    text = (out / "grades.csv").read_text(encoding="utf-8")
    return {row["learner"]: row for row in csv.DictReader(io.StringIO(text))}


def test_a_class_is_graded_and_every_file_says_the_same(students: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    done = run("grade", students, "--out", out, "--jobs", 2)

    assert (done.returncode, done.stderr) == (1, "")
    assert "4 submitted, 4 reported" in done.stdout
    rows = table(out)
    assert set(rows) == {"'" + name if name.startswith("=") else name for name in NAMES.values()}
    outcomes = {name: (row["outcome"], row["earned"]) for name, row in rows.items()}
    assert outcomes == {
        NAMES["good"]: ("judged", "10"),
        "'" + NAMES["mutant"]: ("judged", "0"),
        NAMES["empty"]: ("not_attempted", "0"),
        NAMES["odd"]: ("malformed", "0"),
    }
    document = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert (document["format"], document["schema_version"], document["submitted"]) == ("labkit grades", 1, 4)
    marks = {one["learner"]: one["katas"][MODEL] for one in document["learners"]}
    assert marks[NAMES["mutant"]]["verdicts"]["duplicate"] > 0
    suite = ElementTree.fromstring((out / "junit.xml").read_text(encoding="utf-8"))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "3", "0")
    pages = {path: path.read_text(encoding="utf-8") for path in (out / "feedback").glob("*.html")}
    assert len(pages) == 4
    for text in (*pages.values(), (out / "class.html").read_text(encoding="utf-8")):
        assert not re.search(r"<(script|link|img|iframe)\b|@import|url\(|https?://(?!www\.w3\.org)", text)
        assert not re.search(r"checks\.py|labkit[./]learning|Traceback|/dev/shm", text)
    assert "payments_with_new_key" not in "".join(pages.values())
    assert "1 of 1" in (out / "class.html").read_text(encoding="utf-8")  # the author's one wrong prediction


def test_a_second_run_goes_on_and_says_what_changed(students: Path, solution: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("grade", students, "--out", out).returncode == 1
    before = {path.name: path.read_bytes() for path in out.glob("*.*") if path.suffix != ".sqlite3"}
    assert run("grade", students, "--out", out).returncode == 1
    assert {path.name: path.read_bytes() for path in out.glob("*.*") if path.suffix != ".sqlite3"} == before

    (students / NAMES["mutant"] / "k03.py").write_text(solution, encoding="utf-8")
    again = run("grade", students, "--out", out, "--json")

    [changed] = [one for one in json.loads(again.stdout)["learners"] if one["changed"]]
    assert (changed["learner"], changed["changed"][MODEL]["earned_before"]) == (NAMES["mutant"], 0)
    assert changed["katas"][MODEL]["earned"] == 8


def test_a_checker_that_crashes_is_the_machines_failure_and_no_score(
    kata: Kata, students: Path, tmp_path: Path
) -> None:
    """It fails on the second payment of the mutant's answer; everybody else has what they have."""
    checks = kata.folder / "checks.py"
    judge = """
def judge(observation):
    from labkit.learning.judge import judge as usual
    if observation.fault.startswith("kill at") and len(observation.final["payments"]["effects"]) > 1:
        return observation.no_such
    return usual(observation)
"""
    checks.write_text(checks.read_text(encoding="utf-8") + judge, encoding="utf-8")

    done = run("grade", students, "--out", tmp_path / "out")

    rows = {name: (row["outcome"], row["earned"]) for name, row in table(tmp_path / "out").items()}
    assert rows["'" + NAMES["mutant"]] == ("infra_error", "")
    assert rows[NAMES["good"]] == ("judged", "10")
    assert done.returncode == 3
    assert "the infrastructure failed for some answers, which have no score" in done.stderr


WRONG = {
    "no folder": (["grade", "nowhere", "--out", "out"], "is no folder"),
    "no such kata": (["grade", ".", "--out", "out", "--kata", "k99"], "k99 is not here"),
    "no such sandbox": (["grade", ".", "--out", "out", "--sandbox", "none"], "--sandbox none is not known"),
    "no jobs": (["grade", ".", "--out", "out", "--jobs", "0"], "--jobs"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use_changes_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)

    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_submitted_is_what_is_graded(
    kata: Kata, solution: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The archive has digests, is never overwritten, and grades as the notebook did."""
    workspace = Path(os.environ["LAB_WORKSPACE"])
    open_kata(MODEL).predict(**kata.author)
    (workspace / "answers").mkdir()
    (workspace / "answers" / f"{MODEL}.py").write_text(solution, encoding="utf-8")
    archive = tmp_path / "class" / "ann.zip"
    archive.parent.mkdir()

    assert main(["submit", "--out", str(archive)]) == 0
    assert main(["submit", "--out", str(archive)]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    with zipfile.ZipFile(archive) as packed:
        assert sorted(packed.namelist()) == [
            f"answers/{MODEL}.py", f"notebooks/{MODEL}.ipynb", "predictions.sqlite3", "submission.json",
        ]  # fmt: skip
    assert main(["grade", str(archive.parent), "--out", str(tmp_path / "out")]) == 0
    assert table(tmp_path / "out")["ann"]["earned"] == "10"


def test_nothing_to_submit_is_said(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "--out", str(tmp_path / "a.zip")]) == 2
    assert "holds nothing to hand in" in capsys.readouterr().err


def test_a_damaged_prediction_journal_costs_only_the_prediction(
    students: Path, tmp_path: Path, system_program: Callable[..., str]
) -> None:
    (students / NAMES["good"] / "predictions.sqlite3").write_bytes(b"SQLite format 3\0" + b"\0" * 500)

    assert run("grade", students, "--out", tmp_path / "out").returncode == 1
    assert table(tmp_path / "out")[NAMES["good"]]["earned"] == "8"
