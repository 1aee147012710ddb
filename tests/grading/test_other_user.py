"""The sandbox for who is not root: a whole Python of the system's, as a user with no rights at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import rfc8785

from .classes import solution

ROOT = Path(__file__).parents[2]
USER = 61234  # nobody's
PYTHON = "/usr/bin/python3"
CAN_IMPORT = f"import sys, os; sys.exit(sys.version_info < (3, 11) or os.getuid() != {USER})"
JUDGE = """
import json, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from labkit.grading.judging import Judge, Task
from labkit.grading.sandbox import DEADLINE_S, SandboxedPool
from labkit.harness import sweep_files
from labkit.learning import katas

kata = katas.load(Path("katas/k03_missing_ack"))
found = {}
with SandboxedPool(sys.argv[1], 2) as pool:
    judge = Judge(pool, [kata])
    for name in sys.argv[2:]:
        pool.deadline_s = DEADLINE_S if name == "solution.py" else 2.0  # what hangs need not hang for long
        found[name] = judge.judge(Task(kata.slug, Path(name).read_text()))
    passed = {name: bool(ran.sweep and sweep_files.from_json(ran.sweep).passed) for name, ran in found.items()}
    print(json.dumps({"level": pool.named_level, "passed": passed}))
"""
pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(300)]


def as_the_user(*words: str) -> list[str]:
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all", *words]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that the user may read: an environment with labkit in it, the kata, and some answers."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip(
            "only root can become another user, by setpriv; as any other user the tests beside this are it"
        )
    if subprocess.run(as_the_user(PYTHON, "-c", CAN_IMPORT), check=False, capture_output=True).returncode:
        pytest.skip(f"{PYTHON} is not Python 3.11 or later that another user may run")
    with TemporaryDirectory(prefix="lab-user-") as made:  # pytest's own folders are closed to others
        folder = Path(made)
        folder.chmod(0o755)
        fill(folder)
        yield folder


def fill(folder: Path) -> None:
    """Lay out what the user needs."""
    hidden = shutil.ignore_patterns("__pycache__", "ui")
    for source in (ROOT / "labkit", ROOT / "katas", Path(rfc8785.__file__).parent):
        shutil.copytree(source, folder / source.name, ignore=hidden)
    for name in ("grandchild", "fork_bomb"):
        shutil.copy(Path(__file__).parent / "hostile" / f"{name}.py", folder)
    (folder / "solution.py").write_text(solution(), encoding="utf-8")
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    [packages] = folder.glob("venv/lib/*/site-packages")
    (packages / "here.pth").write_text(str(folder), encoding="utf-8")


@pytest.mark.parametrize("level", ["bwrap", "rlimits"])
def test_without_root_an_answer_is_judged_alike(
    place: Path, level: str, system_program: Callable[..., str]
) -> None:
    if level == "bwrap":
        system_program("bwrap")
    python = str(place / "venv" / "bin" / "python")

    done = subprocess.run(
        as_the_user(python, "-I", "-c", JUDGE, level, "solution.py", "grandchild.py", "fork_bomb.py"),
        cwd=place, capture_output=True, text=True, check=False, env={"HOME": "/nowhere"},
    )  # fmt: skip

    if level == "bwrap" and done.returncode and "namespace" in done.stderr:
        pytest.skip("this kernel gives no user namespace to a user without rights")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "level": f"{level}, own user",
        "passed": {"solution.py": True, "grandchild.py": False, "fork_bomb.py": False},
    }
    ends_s = time.monotonic() + 10
    while left := [status for status in Path("/proc").glob("[0-9]*/status") if of_the_user(status)]:
        assert time.monotonic() < ends_s, (
            left
        )  # the kernel kills them with their parent, and that takes a moment


def of_the_user(status: Path) -> bool:
    try:
        return f"\nUid:\t{USER}\t" in status.read_text(encoding="utf-8")
    except OSError:
        return False
