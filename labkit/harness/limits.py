"""What the sandbox's processes may use, bound by the kernel."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import dataclass

from labkit.harness import child, seccomp


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use.  `user_id` is whom it runs as, None for this process's own user."""

    cpu_s: int = 1
    memory_bytes: int = 512 * 1024 * 1024
    file_bytes: int = 8 * 1024 * 1024
    processes: int = 16
    open_files: int = 128
    user_id: int | None = None

    def bind(self) -> None:
        """Bind this process and all that it will start, by what does not hinder its own work."""
        lower(resource.RLIMIT_CORE, 0)
        lower(resource.RLIMIT_FSIZE, self.file_bytes)
        lower(resource.RLIMIT_NOFILE, self.open_files)
        lower(resource.RLIMIT_AS, self.memory_bytes)
        seccomp.deny()

    def bind_child(self) -> None:
        """The rest, in a child: what it may use up, and as whom it runs."""
        lower(resource.RLIMIT_NPROC, self.processes)
        resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_s, self.cpu_s + 1))
        if self.user_id is not None:
            os.setgroups([])
            os.setgid(self.user_id)
            os.setuid(self.user_id)
        child.die_with_parent()  # again: a change of user forgets it


def lower(kind: int, amount: int) -> None:
    """Set a limit for good, where the system has it and it is not lower already."""
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (amount, amount))
