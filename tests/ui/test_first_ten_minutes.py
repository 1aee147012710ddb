"""docs/first_ten_minutes.md is what a terminal really shows: its commands are typed again, in a pseudo-terminal.

HTML comments before its blocks say what is not to be seen in them: `{"typed": [...]}` are the answers to
a command's questions, `{"until": TEXT}` lets it go on in its window after the line that holds TEXT; a
block without a command shows what came of it since.  `{"save": FILE}` saves a block, and with
`{"compare": "first words"}` the rest of each line is the machine's own.  The line `[...]` stands for any.

Where a command says something else now, LAB_WRITE=1 puts that into the page, without its `[...]`.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "first_ten_minutes.md"
BLOCK = re.compile(r"(?:<!-- (\{[^\n]*\}) -->\n)?^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"(\n  \([^\n]*\) |costs nothing\.\n  |q leaves: )$")  # where a question waits
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
SIZE = struct.pack("HHHH", 40, 80, 0, 0)  # lines, columns
DEADLINE_S = 60.0
ANY = "[...]"


class Window:
    """One command in a terminal of 80 columns, in the learner's folder."""

    def __init__(self, command: str, folder: Path) -> None:
        self._raw, self._seen, self._asked = b"", 0, 0
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, SIZE)
        environment = {**os.environ, "LAB_ROOT": str(folder), "TERM": "dumb"}
        for name in ("LAB_WORKSPACE", "COLUMNS", "LINES"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "labkit.ui.cli", *shlex.split(command)[1:]],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    @property
    def _text(self) -> str:
        return STYLE.sub("", self._raw.decode(errors="ignore"))

    def answer(self, line: str) -> None:
        """Wait for a question, and type."""
        self._read_until(lambda: PROMPT.search(self._text[self._asked :]) is not None)
        self._asked = len(self._text)
        os.write(self._mine, line.encode() + b"\n")

    def look(self, until: str = "") -> str:
        """What came since the last look, up to a whole line that holds `until`, or to the command's end."""
        line = re.compile(f"{re.escape(until)}.*\n")
        self._read_until(lambda: bool(until) and line.search(self._text, self._seen) is not None)
        found, self._seen = self._text[self._seen :], len(self._text)
        return "".join(line.rstrip() + "\n" for line in found.splitlines())

    def close(self) -> None:
        """Ctrl-C, where it goes on still."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._process.wait(DEADLINE_S)
        os.close(self._mine)

    def _read_until(self, done: Callable[[], bool]) -> None:
        ends_s = time.monotonic() + DEADLINE_S
        while not done():
            ready, _, _ = select.select([self._mine], [], [], max(0.0, ends_s - time.monotonic()))
            assert ready, f"nothing came for {DEADLINE_S:g} s after:\n{self._text}"
            try:
                new = os.read(self._mine, 65536)
            except OSError:  # Linux says EIO where the other end is closed
                new = b""
            if not new:
                return
            self._raw += new


def shown_again(page: str, folder: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Each console block with what its command shows now; code blocks are saved where the page says so."""
    open_still: list[Window] = []
    try:
        for block in BLOCK.finditer(page):
            note: dict[str, Any] = json.loads(block[1] or "{}")
            first, _, _rest = block[3].partition("\n")
            if block[2] == "python":
                (folder / note["save"]).write_text(block[3], encoding="utf-8")
                continue
            if command := first.startswith("$ "):
                open_still.append(Window(first.removeprefix("$ "), folder))
            for line in note.get("typed", []):
                open_still[-1].answer(line)
            text = open_still[-1].look(note.get("until", ""))
            yield block, f"{first}\n{text}" if command else text
            if "until" not in note:
                open_still.pop().close()
    finally:
        for window in open_still:
            window.close()


def alike(expected: str, found: str, only_first_words: bool) -> bool:
    """Whether the page's lines are the ones found, `[...]` being any."""
    if only_first_words:
        expected, found = (
            "".join(f"{line.split(' ', 1)[0]}\n" for line in text.splitlines()) for text in (expected, found)
        )
    lines = [r"(?:.*\n)*?" if line == ANY else re.escape(line) + "\n" for line in expected.splitlines()]
    return re.fullmatch("".join(lines), found) is not None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A learner's folder as it comes, and a workspace that is not made yet."""
    for name in ("katas", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_a_learners_first_ten_minutes_are_as_the_page_says(folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    differences: list[str] = []
    new: list[str] = []
    end = 0
    for block, found in shown_again(page, folder):
        if not alike(block[3], found, '"first words"' in (block[1] or "")):
            differences += difflib.unified_diff(
                block[3].splitlines(), found.splitlines(), "page", "now", lineterm=""
            )
            new += [page[end : block.start(3)], found]
            end = block.end(3)
    if os.environ.get("LAB_WRITE") == "1":
        PAGE.write_text("".join([*new, page[end:]]), encoding="utf-8")

    assert "\n".join(differences) == "", "LAB_WRITE=1 writes this into the page"


@pytest.mark.parametrize(
    ("expected", "found", "like"),
    [
        ("$ lab x\na\n", "$ lab x\na\n", True),
        ("$ lab x\na\n", "$ lab x\na\nb\n", False),
        ("$ lab x\na.c\n", "$ lab x\nabc\n", False),
        ("$ lab x\n[...]\nc\n", "$ lab x\na\nb\nc\n", True),
        ("$ lab x\n[...]\nc\n", "$ lab x\na\nb\n", False),
    ],
)
def test_a_page_that_says_something_else_is_noticed(expected: str, found: str, like: bool) -> None:
    assert alike(expected, found, only_first_words=False) == like
