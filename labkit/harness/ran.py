"""One child's end, with what it reported on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from labkit.observations import CrashPoint, ProcessRun, TrialOutcome

Cut = tuple[TrialOutcome, str] | None  # what ended a run from outside, and its name


@dataclass(frozen=True, slots=True)
class Ran:
    """One child's end, with what it reported on the way."""

    run: ProcessRun
    messages: list[dict[str, Any]] = field(repr=False)
    takeover: ProcessRun | None = None
    takeover_worked: bool = False

    @property
    def points(self) -> tuple[CrashPoint, ...]:
        """The crash points that it reported: all of them when it only counted, else the one it met."""
        return tuple(
            CrashPoint(message["point"], message["kind"], message["label"], message["line"])
            for message in self.messages
            if "point" in message
        )

    @property
    def claims(self) -> list[tuple[str, str, bool]]:
        """Of each point: its kind, its name, and whether the provider passed it."""
        return [
            (message["kind"], message["label"].split()[1], message.get("where") == "provider")
            for message in self.messages
            if "point" in message
        ]

    @property
    def witness(self) -> dict[str, Any] | None:
        """What was seen of the run from outside, where somebody looked."""
        return next((message["witness"] for message in self.messages if "witness" in message), None)

    @property
    def minted(self) -> list[str]:
        """The opaque values that it drew."""
        return [token for message in self.messages for token in message.get("minted", ())]

    @property
    def reads(self) -> list[str]:
        """The evidence tables that it read."""
        return sorted({table for message in self.messages for table in message.get("reads", ())})

    @property
    def cut(self) -> Cut:
        """Why a sandbox ended the run, or undid what it left: an outcome, and the limit or file by name."""
        for message in self.messages:
            if message.get("cut") in ("killed_by_limit", "tampered"):
                return message["cut"], str(message.get("because", ""))[:200]
        return None

    @property
    def problem(self) -> str | None:
        """What the child's own watcher complained of."""
        return next((str(message["problem"]) for message in self.messages if "problem" in message), None)
