"""A pool whose children are sandboxed: what grades the answers of people whom nobody vouches for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from labkit.grading import confinement
from labkit.grading.account import Account
from labkit.grading.confinement import Confinement, Level
from labkit.harness.folders import memory_folder, unused_name
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool

BY = "labkit.grading.cage"
DEADLINE_S = 10.0  # of one run, by the wall clock; the processor's limit ends a busy one sooner


class SandboxedPool(Pool):
    """Warm processes that judge out here and start every child in a sandbox of level `level`.

    All their throw-away files lie in the folder `place`, which is theirs alone.
    """

    def __init__(
        self,
        level: Level,
        jobs: int | None = None,
        limits: Mapping[str, Any] | None = None,
        deadline_s: float = DEADLINE_S,
        place: Path | None = None,
    ) -> None:
        super().__init__(jobs)
        self.deadline_s = deadline_s
        self.level = level
        self.limits = dict(limits or {})
        self.place = place or unused_name("lab-grade-")

    @cached_property
    def home(self) -> Path:
        """The folder of all throw-away files, made when first used."""
        self.place.mkdir(mode=0o700, exist_ok=True)
        self.place.chmod(0o711)
        return self.place

    @cached_property
    def account(self) -> Account:
        """What the runs of the answer at hand have used."""
        return Account(self.home / "account")

    @cached_property
    def stage(self) -> Path:
        """The folder with what an answer may import; made for the first job."""
        return confinement.build_stage(self.home / "stage")

    def sandbox(self, ledger_inside: bool) -> dict[str, Any]:
        """What a job has to carry to be run in here."""
        return asdict(
            Confinement(
                by=BY,
                level=self.level,
                home=str(self.home),
                stage=str(self.stage),
                ledger="inside" if ledger_inside else "outside",
                limits=self.limits,
                account=str(self.account.path),
            )
        )

    @property
    def named_level(self) -> str:
        """The level as results give it."""
        return confinement.named(self.level)

    def close(self) -> None:
        """End all warm processes, their sandboxes with them, and remove the folders."""
        super().close()
        shutil.rmtree(self.place, ignore_errors=True)


def scratch_of(pool: Pool | None) -> tempfile.TemporaryDirectory[str]:
    """A folder for a sweep's worlds: a sandboxed pool's lie in its own, which is removed even after a kill."""
    inside = pool.home if isinstance(pool, SandboxedPool) else memory_folder()
    return tempfile.TemporaryDirectory(prefix="lab-", dir=inside)


def sandboxed(job: SweepJob, pool: Pool, ledger_inside: bool) -> SweepJob:
    """The job as this pool runs it."""
    if not isinstance(pool, SandboxedPool):
        return job
    return replace(job, sandbox=pool.sandbox(ledger_inside), deadline_s=pool.deadline_s)
