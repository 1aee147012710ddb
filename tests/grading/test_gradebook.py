"""The gradebook: one writer, whole rows, nothing forgotten."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.errors import Conflict, OutputInUse
from labkit.grading import gradebook
from labkit.grading.marks import Mark

FIRST, SECOND = Mark("judged", "", 5, 10, 5), Mark("judged", "", 8, 10, 8)
HOLDER = """
import sys, time
from pathlib import Path
from labkit.grading import gradebook
with gradebook.opened(Path(sys.argv[1])) as book:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_mark_is_found_by_its_fingerprint_alone(tmp_path: Path) -> None:
    with gradebook.opened(tmp_path / "out") as book:
        book.record(("ann", "k03"), "a", FIRST, {"sweep": 1})
        assert (book.mark("ann", "k03", "a"), book.mark("ann", "k03", "b")) == (FIRST, None)
        book.record(("ann", "k03"), "b", SECOND, None)

    with gradebook.opened(tmp_path / "out") as book:
        assert book.mark("ann", "k03", "b") == SECOND
        assert (book.earlier("ann", "k03"), book.sweep("ann", "k03")) == ([FIRST], None)


def test_who_is_gone_is_kept_as_earlier(tmp_path: Path) -> None:
    with gradebook.opened(tmp_path) as book:
        book.record(("ann", "k03"), "a", FIRST, None)
        book.record(("bob", "k03"), "a", FIRST, None)
        book.forget_all_but(["ann"])

        assert (book.mark("ann", "k03", "a"), book.mark("bob", "k03", "a")) == (FIRST, None)
        assert book.earlier("bob", "k03") == [FIRST]


def test_the_second_grader_says_so_and_a_death_frees_the_book(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert first.stdout is not None
    assert first.stdout.readline() == b"open\n"
    with pytest.raises(Conflict, match="another process grades into"), gradebook.opened(tmp_path):
        pass

    os.kill(first.pid, signal.SIGKILL)
    first.communicate()

    with gradebook.opened(tmp_path) as book:
        assert book.setting("secret", "mine")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(OutputInUse, match=r"thesis\.txt"), gradebook.opened(tmp_path):
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_book_that_was_half_made_is_made_again(tmp_path: Path) -> None:
    (tmp_path / f".{gradebook.FILE}.new").write_bytes(b"half")

    with gradebook.opened(tmp_path) as book:
        assert book.setting("secret", "a") == "a"
        assert book.setting("secret", "b") == "a"

    assert stat.S_IMODE((tmp_path / gradebook.FILE).stat().st_mode) == 0o600


DIES_WHILE_MAKING = """
import os, signal, sys
from pathlib import Path
from labkit.grading import gradebook
def die(*_arguments, **_more):
    os.kill(os.getpid(), signal.SIGKILL)
with gradebook.opened(Path(sys.argv[1])) as book:
    if sys.argv[3] == "before":
        Path.mkdir = die
    book.claim_scratch(Path(sys.argv[2]))
    die()
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_graders_folder_is_found_by_the_next_one(tmp_path: Path, when: str) -> None:
    """Its name stands in the book before the folder is made, so none is ever made that nobody will remove."""
    out, first, second = tmp_path / "out", tmp_path / "lab-grade-1", tmp_path / "lab-grade-2"
    with gradebook.opened(out) as book:
        book.claim_scratch(tmp_path / "lab-grade-0")
    command = [sys.executable, "-c", DIES_WHILE_MAKING, str(out), str(first), when]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert first.exists() == (when == "after")

    with gradebook.opened(out) as book:
        assert book.setting("home", "") == str(first)
        book.claim_scratch(second)

    assert not first.exists()
    assert stat.S_IMODE(second.stat().st_mode) == 0o711  # others pass, and see no names
