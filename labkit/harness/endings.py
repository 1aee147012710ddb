"""How a process ended, and whether it was the machine that failed rather than the worker."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.errors import HarnessError, InfrastructureError
from labkit.observations import ProcessRun


def complaint(run: ProcessRun) -> str | None:
    """The last line that a process wrote to stderr; None where it wrote none."""
    lines = run.stderr_tail.strip().splitlines()
    return lines[-1] if lines else None


def require_machine_held(runs: Iterable[ProcessRun]) -> None:
    """Refuse to judge a trial in which a child met a full disk or a lock: that is nobody's score.

    Raises:
        HarnessError: a child left by the exit code of an infrastructure error.
    """
    for run in runs:
        if run.returncode == InfrastructureError.exit_code:
            raise HarnessError("a child's machine failed it", complaint(run) or "it did not say how")
