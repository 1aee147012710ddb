"""A run as the learner holds it: the observation, its story, and its rows as pandas tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from labkit.boundaries import Boundary
from labkit.errors import UnknownName
from labkit.observations import Observation, Snapshot
from labkit.ui import story
from labkit.ui.one_line import in_one_line
from labkit.ui.story import Story

When = Literal["kill", "end"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of a kata.

    `folder` holds the SQLite files, to open by hand; `command` is the shell line that runs the first
    child again in that folder.
    """

    name: str
    observation: Observation
    boundaries: tuple[Boundary, ...]

    @property
    def folder(self) -> Path:
        """The world's folder in the workspace."""
        return Path(self.observation.folder)

    @property
    def command(self) -> str:
        """The shell line that runs the first child again."""
        return self.observation.runs[0].command

    @property
    def story(self) -> Story:
        """What the timeline draws."""
        return story.tell(self.observation, self.boundaries)

    @in_one_line
    def table(self, store: str, table: str, when: When = "end") -> pd.DataFrame:
        """All columns of one table, at the kill or at the end.

        Raises:
            UnknownName: there is no such store or table, or nothing was killed.
        """
        return table_of(self.rows(when), store, table)

    @in_one_line
    def rows(self, when: When = "end") -> Snapshot:
        """Every row of every store at one moment.  Raises: UnknownName."""
        killed = self.observation.interruption
        looks = {"kill": killed, "end": self.observation.final}
        looks["interruption"] = killed  # as notebooks say that were handed out before
        rows = looks.get(when)
        if rows is None:
            raise UnknownName(f"run {self.name} has no moment {when!r}", 'choose "kill" or "end"')
        return rows


def table_of(rows: Snapshot, store: str, table: str) -> pd.DataFrame:
    """One table of a snapshot; the row numbers count from 1.  Raises: UnknownName."""
    if store not in rows:
        raise UnknownName(f"store {store} is not in this world", f"choose one of {', '.join(rows)}")
    if table not in rows[store]:
        raise UnknownName(f"store {store} has no table {table}", f"choose one of {', '.join(rows[store])}")
    found = rows[store][table]
    return pd.DataFrame(found, index=pd.RangeIndex(1, len(found) + 1), dtype=object)
