"""Which sandbox there is on this machine, what is in it, and the command that starts it.

`bwrap`: bubblewrap; no network, its own process ids, a read-only system, of labkit only what an answer
may import.  `rlimits`: limits, an own session, an empty environment and, for root, another user; the
files of the machine stay readable.  docs/grading.md says what only bubblewrap stops.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from labkit.errors import BadOption, HarnessError

Level = Literal["bwrap", "rlimits"]
LEVELS = ("auto", "bwrap", "rlimits")
USER_IDS = 1_000_000_000  # above any that a system gives out; the process id is added
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
READ_ONLY = ("/tmp", "/dev/shm", "/dev", "/")  # noqa: S108  one run must leave no note for the next
# Runs in a fresh interpreter: what the zygote needs is what an answer's process may see of labkit.
CLOSURE = """
import json, sys
import labkit.harness.zygote as zygote
for name in zygote.COMMON: __import__(name)
print(json.dumps({
    name: module.__file__ for name, module in sys.modules.items()
    if name.partition(".")[0] in ("labkit", "rfc8785") and getattr(module, "__file__", None)
}))
"""


@dataclass(frozen=True, slots=True)
class Confinement:
    """How answers are confined: a job's `sandbox`, as a value.

    `home` is the folder below which each sandbox has its own, `stage` the folder with what an answer
    may import.  `ledger` says whether ledgers are served from outside; `inside` is for exercises in
    which the learner writes the provider's side.  `account` is the file to which each run's use is added.
    """

    by: str
    level: Level
    home: str
    stage: str
    ledger: Literal["outside", "inside"] = "outside"
    limits: Mapping[str, Any] = field(default_factory=dict)
    account: str = ""


def require_known(wanted: str) -> None:
    """Let a name pass that stands for a sandbox.  Raises: BadOption."""
    if wanted not in LEVELS:
        raise BadOption(f"--sandbox {wanted} is not known", f"choose from {', '.join(LEVELS)}")


def choose(wanted: str) -> Level:
    """The sandbox to use.  Raises: BadOption: it is not known, or not to be had here."""
    require_known(wanted)
    if wanted == "rlimits":
        return "rlimits"
    if why_no_bwrap() is None:
        return "bwrap"
    if wanted == "bwrap":
        raise BadOption(
            f"--sandbox bwrap is not to be had ({why_no_bwrap()})", "install bubblewrap, or rlimits"
        )
    return "rlimits"


def named(level: Level) -> str:
    """The level as results give it: whether answers run as another user is part of it."""
    return f"{level}, other user" if os.getuid() == 0 else f"{level}, own user"


def shares_user(level: Level) -> bool:
    """Whether answers run as this process's own user, with nothing between them and its other processes."""
    return level == "rlimits" and os.getuid() != 0


@cache
def why_no_bwrap() -> str | None:
    """Why bubblewrap cannot be used here, None where it can."""
    program = shutil.which("bwrap")
    if program is None:
        return "there is no program bwrap"
    words = [program, *namespaces(), "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    try:
        tried = subprocess.run(words, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if tried.returncode != 0:
        return (tried.stderr.decode(errors="replace").strip().splitlines() or ["it fails"])[-1][:100]
    return None


def namespaces() -> list[str]:
    """Bubblewrap's separations.  Root needs no user namespace, and without one can change its user."""
    own_user = (
        ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_KILL"]
        if os.getuid() == 0
        else ["--unshare-user"]
    )
    return [*own_user, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
            "--unshare-cgroup-try", "--as-pid-1", "--die-with-parent", "--clearenv"]  # fmt: skip


def first_user_id() -> int:
    """A user of the machine's that is nobody else's while this process lives."""
    return USER_IDS + os.getpid()


def interpreter() -> str:
    """The Python that a virtual environment was made from: it brings no packages with it."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def command_of(confinement: Confinement, home: Path, settings: Mapping[str, Any]) -> list[str]:
    """The words that start the sandbox's first process, which serves the descriptor `settings["fd"]`."""
    program = (
        f"import sys; sys.path.insert(0, {confinement.stage!r}); import json; "
        f"from labkit.harness import zygote; zygote.main(json.loads({json.dumps(dict(settings))!r}))"
    )
    python = [interpreter(), "-I", "-S", "-B", "-c", program]
    if confinement.level == "rlimits":
        return python
    binds: list[str] = []
    for folder in SYSTEM:
        if Path(folder).is_symlink():
            binds += ["--symlink", str(Path(folder).readlink()), folder]
        elif Path(folder).exists():
            binds += ["--ro-bind", folder, folder]
    own = [confinement.stage, str(home / "code"), str(home / "served")]
    if not sys.base_prefix.startswith("/usr"):
        own.append(sys.base_prefix)
    for folder in own:
        binds += [*ancestors(folder), "--ro-bind", folder, folder]
    binds += ["--bind", str(home / "worlds"), str(home / "worlds")]
    return [
        shutil.which("bwrap") or "bwrap", *namespaces(),
        "--perms", "1777", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm",  # noqa: S108
        *binds, *(word for folder in READ_ONLY for word in ("--remount-ro", folder)), "--chdir", "/", "--", *python,
    ]  # fmt: skip


def ancestors(folder: str) -> list[str]:
    """The folders above one, made so that every user may pass; bubblewrap would make them its own."""
    above = [str(path) for path in Path(folder).parents][-2::-1]
    return [word for path in above for word in ("--perms", "0755", "--dir", path)]


def build_stage(folder: Path) -> Path:
    """Fill a folder with what an answer's process may import of labkit, and nothing else of it.

    Raises:
        HarnessError: the interpreter could not say what that is.
    """
    asked = subprocess.run(
        [sys.executable, "-I", "-c", CLOSURE], capture_output=True, text=True, timeout=60, check=False
    )
    if asked.returncode != 0:
        raise HarnessError("the sandbox's modules cannot be listed", asked.stderr.strip()[-200:])
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in json.loads(asked.stdout).items():
        source = Path(file)
        target = folder.joinpath(*name.split("."))
        target = target / "__init__.py" if source.name == "__init__.py" else target.with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        for schema in source.parent.glob("*.sql") if source.parent.name == "stores" else ():
            (target.parent / schema.name).write_bytes(schema.read_bytes())
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder
