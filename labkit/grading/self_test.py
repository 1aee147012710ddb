"""Would a sweep notice?  Known guards are taken out of a handler one at a time, and each is swept.

A removal that is not noticed means one of two things, and only a person can say which: the handler
does not need this guard in this world, or the sweep cannot see what it guards against.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.errors import BadHandler, BadOption
from labkit.grading import guards, sweeping
from labkit.grading.sweeping import Request
from labkit.harness.pool import Pool
from labkit.harness.sweeps import Progress, quietly
from labkit.observations import Sweep

MOST_REMOVALS = 60


@dataclass(frozen=True, slots=True)
class Removed:
    """One guard that was taken out.  `noticed` is None where the handler does not even run without it."""

    guard: str
    line: int
    text: str
    outcome: str
    noticed: bool | None


@dataclass(frozen=True, slots=True)
class SelfTest:
    """Every removal, and the control: the same handler with nothing taken out, which must pass."""

    removals: tuple[Removed, ...]
    control: str
    control_passed: bool

    @property
    def passed(self) -> bool:
        """Whether the control passes and at least one removal was noticed."""
        return self.control_passed and any(removed.noticed for removed in self.removals)

    @property
    def complaint(self) -> str:
        """Why it did not pass."""
        if not self.control_passed:
            return (
                f"with nothing taken out the sweep finds {self.control}: mend that before guards are removed"
            )
        return "no removal was noticed: this sweep shows nothing about these guards"

    @property
    def summary(self) -> str:
        """One line."""
        noticed = sum(removed.noticed is True for removed in self.removals)
        broken = sum(removed.noticed is None for removed in self.removals)
        line = f"nothing removed: {self.control}; {noticed} of {len(self.removals)} removals noticed"
        if broken:
            line += f", {broken} of them leave nothing that runs"
        if left := len(self.removals) - noticed - broken:
            line += f", {left} not: either not needed in this world, or out of this sweep's sight"
        return line


def run(request: Request, pool: Pool, progress: Progress = quietly) -> SelfTest:
    """Sweep a handler as it is and without each of its guards.

    Raises:
        BadOption: a command is asked for, or the file has more guards than can be tried.
        BadHandler: the file cannot be read, or no guard is known in it.
    """
    if request.command:
        raise BadOption("--self-test changes a handler's source", "name FILE:FUNCTION, without --command")
    file, _ = sweeping.place_of(request.target)
    source = Path(file).read_text(encoding="utf-8")
    try:
        removals = guards.removals(source)
    except SyntaxError as error:
        raise BadHandler(f"{Path(file).name} is no Python ({error})", "mend it and run again") from None
    if not 0 < len(removals) <= MOST_REMOVALS:
        raise BadHandler(
            f"{Path(file).name} has {len(removals)} guards that are known",
            f"name a file with 1 to {MOST_REMOVALS}",
        )
    control = swept_as(request, guards.without_change(source), pool)
    found: list[Removed] = []
    for number, removal in enumerate(removals if control.passed else (), 1):
        outcome, noticed = judged(request, removal.source, pool)
        found.append(Removed(removal.guard, removal.line, removal.text, outcome, noticed))
        progress(number, len(removals))
    return SelfTest(tuple(found), said(control), control.passed)


def judged(request: Request, source: str, pool: Pool) -> tuple[str, bool | None]:
    """What the sweep says of a changed handler, and whether that is noticing."""
    try:
        swept = swept_as(request, source, pool)
    except BadHandler as error:
        return f"does not run ({error.message})", None
    if not swept.results:
        return f"does not run ({'; '.join(swept.problems)})", None
    return f"{'not noticed' if swept.passed else 'noticed'}: {said(swept)}", not swept.passed


def said(swept: Sweep) -> str:
    """The verdicts in one phrase."""
    return ", ".join(sorted(swept.verdicts)) + (" and problems" if swept.problems else "")


def swept_as(request: Request, source: str, pool: Pool) -> Sweep:
    """Sweep another source in the handler's place: same name, and its neighbours beside it."""
    file, function = sweeping.place_of(request.target)
    with tempfile.TemporaryDirectory(prefix="lab-guards-") as folder:
        for neighbour in Path(file).parent.iterdir():
            if neighbour.name not in (Path(file).name, "__pycache__"):
                (Path(folder) / neighbour.name).symlink_to(neighbour)
        changed = Path(folder) / Path(file).name
        changed.write_text(source, encoding="utf-8")
        target = f"{changed}:{function}" if function else str(changed)
        return sweeping.sweep(replace(request, target=target), pool)
