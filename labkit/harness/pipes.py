"""The pipes between a child and the process that started it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pipes:
    """Both ends of a child's pipes: what it reports and prints, and what lets it go on."""

    report: tuple[int, int]
    stdout: tuple[int, int]
    stderr: tuple[int, int]
    hold: tuple[int, int]

    @classmethod
    def open(cls) -> Pipes:
        """Four new pipes."""
        return cls(os.pipe(), os.pipe(), os.pipe(), os.pipe())

    @property
    def childs(self) -> tuple[int, int, int, int]:
        """The ends that the child holds: report, stdout, stderr, hold."""
        return self.report[1], self.stdout[1], self.stderr[1], self.hold[0]

    @property
    def parents(self) -> tuple[int, int, int, int]:
        """The ends that the parent holds."""
        return self.report[0], self.stdout[0], self.stderr[0], self.hold[1]
