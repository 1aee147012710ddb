"""What all runs of one answer use together, and how much of it one answer may have."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one answer, over all its runs.

    Memory, processes and files are limited in each run, and a run leaves nothing behind: they cannot add up.
    """

    wall_s: float = 300.0
    cpu_s: float = 100.0
    output_bytes: int = 16 * 1024 * 1024


class Account:
    """A file to which every sandbox adds a line a run: processor seconds and bytes of output."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.begin()

    def begin(self) -> None:
        """A new answer: nothing is used yet.  No run may be under way."""
        self.path.write_text("", encoding="ascii")
        self._began_s = time.monotonic()

    def passed(self, allowance: Allowance) -> str:
        """The limit that the answer has passed, by name, empty where it has passed none."""
        lines = [line.split() for line in self.path.read_text(encoding="ascii").splitlines()]
        used = [
            (float(line[0]), int(line[1])) for line in lines if len(line) == 2
        ]  # a killed writer's is half
        if time.monotonic() - self._began_s > allowance.wall_s:
            return f"{allowance.wall_s:g} s for one answer"
        if sum(cpu_s for cpu_s, _ in used) > allowance.cpu_s:
            return f"{allowance.cpu_s:g} s of processor time for one answer"
        if sum(output_bytes for _, output_bytes in used) > allowance.output_bytes:
            return f"{allowance.output_bytes} bytes of output for one answer"
        return ""


def add(path: str, cpu_s: float, output_bytes: int) -> None:
    """Add one run.  A line is written at once, so that those of several processes do not mix."""
    if path:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, f"{cpu_s:.3f} {output_bytes}\n".encode())
        finally:
            os.close(fd)
