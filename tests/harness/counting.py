"""A pool whose tasks tests can count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

from labkit.harness.pool import Pool


class Counting(Pool):
    """A pool that counts what it is asked to do."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self.asked: Counter[str] = Counter()

    def run(self, tasks: Sequence[tuple[Any, ...]]) -> Generator[tuple[int, Any], None, None]:
        self.asked.update(task[0] for task in tasks)
        return super().run(tasks)
