"""The sandbox: the same sweep as without it, nothing to find in it, and nothing that outlives it."""

from __future__ import annotations

import errno
import os
import platform
import resource
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import BadOption
from labkit.grading import confinement, engine
from labkit.grading.cage import Cage
from labkit.grading.compiling import code_of
from labkit.grading.confinement import Confinement, Level
from labkit.grading.sandbox import SandboxedPool
from labkit.grading.stage import Stage, load_stage
from labkit.harness import seccomp
from labkit.harness.limits import Limits
from labkit.harness.pool import Pool
from labkit.learning import katas

from .classes import solution

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def stage() -> Stage:
    return load_stage(katas.load(ROOT / "katas" / "k03_missing_ack"))


@pytest.fixture(scope="module", params=["bwrap", "rlimits"])
def pool(request: pytest.FixtureRequest, system_program: Callable[..., str]) -> Iterator[SandboxedPool]:
    """A pool at each level."""
    level: Level = request.param
    if level == "bwrap":
        system_program("bwrap")
    with SandboxedPool(level, 2) as sandboxed:
        yield sandboxed


def test_what_cannot_be_handed_over_as_code_is_left_to_the_child(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Code is compiled beside whoever grades: nothing in a text breaks that, or writes on their terminal."""
    file = tmp_path / "answer.py"

    def code(text: bytes) -> bytes:
        file.write_bytes(text)
        return code_of(file)

    assert code(b"def resume(world):\n    return world is 1  # \x1b[31mred\n") != b""
    for text in (
        b"x = " + b"lambda: " * 1500 + b"0\n",
        b"x = " + b"-" * 4000 + b"1\n",
        b"\0",
        b"\xff",
        b"x =",
    ):
        assert code(text) == b""
    assert capfd.readouterr().err == ""


def test_a_text_that_compiles_to_a_thousand_times_its_size_takes_no_memory_out_here(tmp_path: Path) -> None:
    """Some 650 bytes of `finally` in `finally` are 44 MB of code, and its compiler takes 1.2 GB."""
    file = tmp_path / "answer.py"
    lines = ["def resume(world):"]
    for depth in range(1, 13):
        lines += [" " * depth + "try:", " " * depth + " if world: return", " " * depth + "finally:"]
    file.write_text("\n".join([*lines, " " * 13 + "world"]) + "\n", encoding="utf-8")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert code_of(file) == b""
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used < 400 * 1024  # KiB


@pytest.mark.slow
@pytest.mark.parametrize("slug", ["k03_missing_ack", "k14_the_allowance", "k17_tell_the_customer"])
def test_a_sweep_is_the_same_with_and_without_a_sandbox(
    pool: SandboxedPool, tmp_path: Path, slug: str
) -> None:
    """Every point, label, verdict and row: a ledger behind a socket loses none of a file's crash points."""
    stage = load_stage(katas.load(ROOT / "katas" / slug))
    answer = tmp_path / "answer.py"
    answer.write_text(solution(slug), encoding="utf-8")

    with Pool(2) as plain:
        without = engine.grade(stage, answer, pool=plain)

    assert engine.grade(stage, answer, pool=pool) == without
    assert without.passed


@pytest.mark.slow
def test_a_mutant_falls_alike(pool: SandboxedPool, stage: Stage) -> None:
    mutant = stage.kata.folder / "mutants" / "new_key.py"

    with Pool(2) as plain:
        without = engine.grade(stage, mutant, pool=plain)

    assert engine.grade(stage, mutant, pool=pool) == without
    assert "duplicate" in without.verdicts


def promise(pool: SandboxedPool, stage: Stage, tmp_path: Path, body: str) -> object:
    """What a resume with this body returns, in the fault-free run."""
    answer = tmp_path / "answer.py"
    answer.write_text(
        "def resume(world):\n" + textwrap.indent(textwrap.dedent(body), "    "), encoding="utf-8"
    )
    return engine.repeat(stage, answer, [], pool).promised[1]


def test_only_the_learners_surface_is_there_to_import(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    body = """
    found = []
    for name in ("labkit.protocol.resume", "labkit.harness.workers.payment", "labkit.learning.judge",
                 "labkit.grading.engine", "labkit.harness.schedules", "labkit.ui.cli", "katas", "pandas"):
        try:
            __import__(name)
            found.append(name)
        except ImportError:
            pass
    import labkit.kata
    return found
    """

    assert promise(pool, stage, tmp_path, body) == []


def test_an_answer_that_is_judged_beside_another_cannot_reach_it(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    """Under rlimits `/proc/net/unix` tells where the other's provider is served, and so where its code lies."""
    if confinement.shares_user(pool.level):
        pytest.skip("answers that run as this very user are judged one after the other")
    beside = Cage(Confinement(**pool.sandbox(ledger_inside=False)))
    try:
        (beside.home / "code" / "answer.py").write_text("the other's answer", encoding="utf-8")
        body = f"""
        import os
        found = []
        for name in ("code", "served", "worlds"):
            try:
                found.append(os.listdir(os.path.join({str(beside.home)!r}, name)))
            except OSError:
                pass
        return found
        """

        assert promise(pool, stage, tmp_path, body) == []
    finally:
        beside.remove()


def test_no_ledger_lies_where_an_answer_could_write_it(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    assert promise(pool, stage, tmp_path, "import os; return sorted(os.listdir('.'))") == [
        "journal.sqlite3",
        "world.json",
    ]


def test_the_environment_is_empty_and_the_user_another(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    os.environ["LAB_SECRET_OF_THE_TEACHER"] = "seed"
    try:
        seen = promise(
            pool, stage, tmp_path, "import os; return [sorted(os.environ), os.getuid(), os.getgroups()]"
        )
    finally:
        del os.environ["LAB_SECRET_OF_THE_TEACHER"]

    assert isinstance(seen, list)
    assert set(seen[0]) <= {"LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_"}
    if os.getuid() == 0:
        assert seen[1] > confinement.USER_IDS
        assert seen[2] == []


def test_bubblewrap_shows_no_machine(pool: SandboxedPool, stage: Stage, tmp_path: Path) -> None:
    """Neither the project, nor its katas, nor other learners, nor other processes, nor a network."""
    if pool.level != "bwrap":
        return
    body = f"""
    import os, socket
    seen = [path for path in ({str(ROOT)!r}, {str(tmp_path)!r}, "/etc/passwd", "/home", "/var") if os.path.exists(path)]
    try:
        socket.create_connection(("127.0.0.1", 1), 1)
    except OSError as error:
        seen.append(type(error).__name__)
    seen.append(len([name for name in os.listdir("/proc") if name.isdigit()]))
    return seen
    """

    assert promise(pool, stage, tmp_path, body) == ["ConnectionRefusedError", 2]


@pytest.mark.skipif(platform.machine() not in seccomp.DENIED, reason="the calls' numbers are not known here")
def test_nothing_but_files_can_be_left_for_the_next_run(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    """Shared memory and keys outlive a process; the calls for them fail, with bubblewrap and without."""
    body = """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    calls = [lambda: libc.shmget(7, 4096, 0o1666), lambda: libc.semget(7, 1, 0o1666), lambda: libc.msgget(7, 0o1666),
             lambda: libc.ptrace(0, 0, 0, 0), lambda: libc.syscall(NUMBER, b"user", b"note", b"x", 1, -3)]
    return [(call(), ctypes.get_errno()) for call in calls] + [int(open("/proc/self/status").read().split("NoNewPrivs:")[1].split()[0])]
    """.replace("NUMBER", str(seccomp.DENIED[platform.machine()][1][4]))

    assert promise(pool, stage, tmp_path, body) == [*([[-1, errno.EPERM]] * 5), 1]


def test_bubblewrap_has_no_folder_for_notes(pool: SandboxedPool, stage: Stage, tmp_path: Path) -> None:
    if pool.level != "bwrap":
        return
    body = """
    import os
    found = []
    for root, folders, _ in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(root, name) not in ("/proc", "/usr")]
        if os.access(root, os.W_OK) and root != os.getcwd():
            found.append(root)
    return found
    """

    assert promise(pool, stage, tmp_path, body) == []


LIMITS = {
    "processor": ("while True: pass", "1 s of processor time"),
    "processor, over all processes": (
        "import os, time\nfor _ in '1234':\n    if not os.fork():\n        while time.process_time() < 0.3: pass\n        os._exit(0)\nfor _ in '1234': os.wait()",
        "1 s of processor time",
    ),
    "memory": ("x = bytearray(10**10)", "memory"),
    "output": ("while True: print('x' * 10000)", "1048576 bytes of output"),
    "one file": ("open('big', 'wb').write(b'x' * 10**8)", "the size of one file"),
    "many files": (
        "n = 0\nwhile True:\n    n += 1; open(f'f{n}', 'wb').write(b'x' * 1000)",
        "33554432 bytes or 64 files in its folder",
    ),
    "processes": (
        "import os, time\nwhile True:\n    if not os.fork(): time.sleep(60)",
        "the number of processes",
    ),
    "open files": ("kept = []\nwhile True: kept.append(open('/dev/null'))", "the number of open files"),
}


@pytest.mark.parametrize(("body", "limit"), LIMITS.values(), ids=LIMITS)
def test_each_limit_is_a_verdict_that_names_it(
    pool: SandboxedPool, stage: Stage, tmp_path: Path, body: str, limit: str
) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text("def resume(world):\n" + textwrap.indent(body, "    "), encoding="utf-8")

    result = engine.repeat(stage, answer, [5], pool)

    assert (result.outcome, result.explanation, result.passed) == ("killed_by_limit", limit, False)


def test_every_limit_binds_the_answer_itself(pool: SandboxedPool, stage: Stage, tmp_path: Path) -> None:
    """As docs/grading.md names them; none can be raised again."""
    limits = Limits()
    bound = promise(
        pool, stage, tmp_path,
        """
        import resource
        kinds = ("CORE", "FSIZE", "NOFILE", "AS", "NPROC", "CPU")
        return {kind: resource.getrlimit(getattr(resource, f"RLIMIT_{kind}")) for kind in kinds}
        """,
    )  # fmt: skip

    assert bound == {
        "CORE": [0, 0],
        "FSIZE": [limits.file_bytes] * 2,
        "NOFILE": [limits.open_files] * 2,
        "AS": [limits.memory_bytes] * 2,
        "NPROC": [limits.processes] * 2,
        "CPU": [limits.cpu_s, limits.cpu_s + 1],
    }


def test_noise_changes_no_verdict(pool: SandboxedPool, stage: Stage, tmp_path: Path) -> None:
    """Warnings, bytes that are no text and a forged traceback on stderr, around a right answer."""
    noise = """
import os, sys, warnings
warnings.warn("this will fail")
print("Traceback (most recent call last):\\nAssertionError: 0 points", file=sys.stderr)
os.write(2, bytes(range(256)))
"""
    answer = tmp_path / "answer.py"
    answer.write_text(solution("k03_missing_ack") + noise, encoding="utf-8")

    assert engine.repeat(stage, answer, [5], pool).names == ("exactly_one",)


def test_a_sandbox_that_is_not_to_be_had_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "why_no_bwrap", lambda: "there is no program bwrap")

    with pytest.raises(BadOption, match=r"bwrap is not to be had \(there is no program bwrap\)"):
        confinement.choose("bwrap")
    with pytest.raises(BadOption, match="--sandbox docker is not known"):
        confinement.choose("docker")
    assert (confinement.choose("auto"), confinement.choose("rlimits")) == ("rlimits", "rlimits")


def test_a_pool_leaves_no_folder_behind(stage: Stage, tmp_path: Path) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text(solution("k03_missing_ack"), encoding="utf-8")

    with SandboxedPool("rlimits", 1) as pool:
        assert not pool.place.exists()
        home = pool.home
        assert engine.repeat(stage, answer, [], pool).passed
        assert list(home.glob("cage-*/worlds")) != []

    assert not home.exists()


@pytest.mark.slow
def test_a_provider_that_the_learner_writes_has_its_ledger_inside(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    """Weaker, and for such exercises alone: the sweep is the same, the ledger lies in the run's folder."""
    answer = tmp_path / "answer.py"
    answer.write_text(solution("k03_missing_ack"), encoding="utf-8")
    inside = replace(stage, ledger_inside=True)

    assert engine.grade(inside, answer, pool=pool).passed
    assert promise(pool, inside, tmp_path, "import os; return sorted(os.listdir('.'))") == [
        "journal.sqlite3",
        "ledger.sqlite3",
        "world.json",
    ]
