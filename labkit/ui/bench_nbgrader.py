"""`lab bench`: nbgrader on a trivial notebook, in an environment of its own that is thrown away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat

from labkit.errors import HarnessError
from labkit.ui import editions
from labkit.ui.nbgrader_edition import SCHEMA_VERSION

PACKAGES = ("nbgrader==0.9.6", "ipykernel==7.4.0")
INSTALL_S = 400
COMMAND_S = 600
V4: Any = nbformat.v4  # it brings no types along
ASSIGNMENT = "trivial"
SOLUTION = "def one():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"
TEST = "assert one() == 1"


def programs(named: str | None, scratch: Path) -> Path:
    """The folder with nbgrader's program: the one that was named, or a new environment below `scratch`.

    Raises:
        HarnessError: there is none, and none could be installed in time.
    """
    if named is not None:
        found = Path(named).absolute()
        if not (found / "nbgrader").exists():
            raise HarnessError(f"{found} has no program nbgrader", "name an environment's folder of programs")
        return found
    home = scratch / "nbgrader"
    ends_s = time.monotonic() + INSTALL_S
    for words in (
        [sys.executable, "-m", "venv", str(home)],
        [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
    ):  # fmt: skip
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=max(ends_s - time.monotonic(), 1))
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
            why = said[-1][:200] if said else type(error).__name__
            raise HarnessError(f"nbgrader cannot be installed ({why})", "name one with --nbgrader") from None
    return home / "bin"


class Course:
    """A course of nbgrader's with one trivial assignment, handed in by `count` learners."""

    def __init__(self, folder: Path, programs: Path, count: int) -> None:
        self.folder = folder
        self.programs = programs
        self.count = count
        source = folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        source.parent.mkdir(parents=True)
        source.write_text(editions.to_text(trivial()), encoding="utf-8")
        self._nbgrader("generate_assignment", ASSIGNMENT, "--create")
        released = folder / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        answered = json.loads(released.read_text(encoding="utf-8"))
        for cell in answered["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                cell["source"] = "def one():\n    return 1"
        for number in range(count):
            handed_in = folder / "submitted" / f"learner-{number}" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
            handed_in.parent.mkdir(parents=True)
            handed_in.write_text(json.dumps(answered), encoding="utf-8")

    def autograde(self) -> float:
        """Grade all of them anew; the seconds of one, the program's start shared among them."""
        shutil.rmtree(self.folder / "autograded", ignore_errors=True)
        began = time.perf_counter()
        self._nbgrader("autograde", ASSIGNMENT, "--create")
        seconds = time.perf_counter() - began
        graded = list((self.folder / "autograded").glob(f"*/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"))
        if len(graded) != self.count:
            raise HarnessError(f"nbgrader graded {len(graded)} of {self.count}", "run `lab bench` again")
        return seconds / self.count

    def _nbgrader(self, *words: str) -> None:
        """One command of nbgrader's.  Raises: HarnessError: it failed."""
        there = {"PATH": f"{self.programs}{os.pathsep}/usr/bin:/bin", "HOME": str(self.folder)}
        done = subprocess.run(
            [str(self.programs / "nbgrader"), *words, f"--course-dir={self.folder}"],
            capture_output=True, text=True, check=False, timeout=COMMAND_S, env=there, cwd=self.folder,
        )  # fmt: skip
        if done.returncode != 0:
            why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:200]
            raise HarnessError(f"nbgrader {words[0]} failed ({why})", "name another with --nbgrader")


def trivial() -> Any:
    """A notebook with one solution and one test."""

    def metadata(name: str, is_test: bool) -> dict[str, Any]:
        found = {
            "grade": is_test,
            "grade_id": name,
            "locked": is_test,
            "solution": not is_test,
            "task": False,
        }
        points = {"points": 1} if is_test else {}
        return {"nbgrader": found | points | {"schema_version": SCHEMA_VERSION}}

    return V4.new_notebook(
        cells=[
            V4.new_code_cell(SOLUTION, id="solution", metadata=metadata("solution", False)),
            V4.new_code_cell(TEST, id="test", metadata=metadata("test", True)),
        ],
        metadata=editions.METADATA,
    )
