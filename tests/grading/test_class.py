"""A made-up class through the whole of `lab grade`: what each comes to, and twenty deaths of the grader."""

from __future__ import annotations

import csv
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from labkit.grading import gradebook

from .classes import make

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1800)]
LEARNERS = int(os.environ.get("LAB_CLASS", "30"))  # 100 by hand: LAB_CLASS=100
DEATHS = 20


def command(folder: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "labkit.ui.cli", "grade", str(folder), "--out", str(out), "--kata", "k03"]


def rows(out: Path) -> int:
    """How many marks stand in a gradebook that another process writes."""
    try:
        with closing(sqlite3.connect(f"file:{out / gradebook.FILE}?mode=ro", uri=True)) as book:
            return int(book.execute("SELECT count(*) FROM marks").fetchone()[0])
    except sqlite3.Error:
        return -1


def killed_at(count: int, folder: Path, out: Path) -> bool:
    """Grade until `count` marks stand, then SIGKILL; False where it was done before."""
    grader = subprocess.Popen(command(folder, out), stdout=subprocess.DEVNULL)
    while grader.poll() is None and rows(out) < count:
        time.sleep(0.005)  # to look again, not to hit a moment
    if grader.poll() is None:
        os.kill(grader.pid, signal.SIGKILL)
    return grader.wait() == -signal.SIGKILL


def test_each_comes_to_what_it_must_also_after_twenty_deaths(tmp_path: Path) -> None:
    """The killed run and the whole one leave the same bytes."""
    folder, whole, out = tmp_path / "class", tmp_path / "whole", tmp_path / "out"
    expected = make(folder, LEARNERS)
    for book in (whole, out):
        with gradebook.opened(book) as opened:
            opened.put("secret", "the same worlds for both")

    assert subprocess.run(command(folder, whole), stdout=subprocess.DEVNULL, check=False).returncode == 1
    deaths = sum(killed_at(1 + number * LEARNERS // DEATHS, folder, out) for number in range(DEATHS))
    assert subprocess.run(command(folder, out), stdout=subprocess.DEVNULL, check=False).returncode == 1

    assert deaths >= DEATHS - 2
    for name in ("grades.csv", "results.json", "junit.xml", "class.html"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        table = {row["learner"]: row for row in csv.DictReader(file)}
    assert table.keys() == expected.keys()
    for learner, (outcome, is_whole) in expected.items():
        assert (table[learner]["exercise"] == "8") == is_whole, learner
        assert outcome in ("", table[learner]["outcome"]), learner
        if "gives_up" not in learner:  # merely stuck at some crash points: a share
            assert is_whole or table[learner]["exercise"] == "0", learner
