"""Children are really killed, and their ends really known: deadlines, bounds, and nothing that survives."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import HarnessError
from labkit.harness.child import ChildSpec
from labkit.harness.launchers import ExecLauncher, ForkLauncher
from labkit.harness.piped import TAIL_BYTES
from labkit.harness.worlds import one_charge, prepare
from labkit.observations import ProcessRun

KILLED = -signal.SIGKILL
SOON_S = 10.0  # for what was killed to be gone on a busy machine; nobody waits longer than it takes
HANDLERS = """
import os, signal, subprocess, sys, time
from pathlib import Path
from labkit.errors import KnownFailure, StoreLocked
from labkit.kata import Boundary

def returns(world): return {"paid": 4000, "by": world.owner, "at": world.now_ms}
def returns_an_object(world): return world
def announces(world):
    world.reached(Boundary.BEFORE_EFFECT)
    world.reached(Boundary.EFFECT_COMMITTED)
    return "went on"
def raises(world): raise ValueError("of my own")
def fails(world): raise KnownFailure("declined", "try again")
def meets_a_lock(world): raise StoreLocked("ledger is locked", "wait")
def leaves(world): sys.exit(7)
def kills_itself(world): os.kill(os.getpid(), signal.SIGKILL)
def hangs(world): signal.pause()
def says_who_and_hangs(world):
    Path(__file__).with_name("pids").write_text(f"{os.getpid()} {os.getppid()} {grandchild(session=True)}")
    signal.pause()
def ignores_sigterm_and_hangs(world):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pause()
def prints_without_end(world):
    while True:
        print("x" * 1000)
        print("y" * 1000, file=sys.stderr)
def prints_and_dies(world):
    print("first line")
    print("z" * 100_000)
    print("last words", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
def returns_much(world): return "r" * 300_000
def scribbles_into_every_pipe(world):
    for fd in range(3, 30):
        try:
            os.write(fd, b"noise\\n[1]\\n{\\n")
        except OSError:
            pass
    return "fine"

def grandchild(*, session):
    code = "import signal; signal.pause()"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=session)
    return child.pid
def leaves_a_grandchild(world):
    (world.folder / "pids").write_text(str(grandchild(session=False)))
    return "done"
def hangs_with_a_grandchild(world):
    (world.folder / "pids").write_text(str(grandchild(session=False)))
    world.reached(Boundary.BEFORE_EFFECT)
    signal.pause()
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A prepared world, with the handlers of this file beside it."""
    (tmp_path / "handlers.py").write_text(HANDLERS, encoding="utf-8")
    return prepare(tmp_path / "world", one_charge())


def spec_of(world: Path, function: str, **more: Any) -> ChildSpec:
    """The child that runs one of the handlers."""
    return ChildSpec(str(world), str(world.parent / "handlers.py"), function, **more)


def ran(world: Path, function: str, deadline_s: float = 5.0, **more: Any) -> ProcessRun:
    """One handler, run to its end."""
    with ExecLauncher().start(spec_of(world, function, **more)) as child:
        return child.finish("first", deadline_s)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has reaped yet does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_gone(pids: list[int], within_s: float) -> bool:
    """Whether all of them have ended within a time."""
    until_s = time.monotonic() + within_s
    while any(map(is_alive, pids)):
        if time.monotonic() > until_s:
            return False
        time.sleep(0.005)
    return True


# --- how a child ends -----------------------------------------------------------------------

ENDS = {
    "returns": (0, {"paid": 4000, "by": "worker-1", "at": 1000}, ""),
    "announces": (0, "went on", ""),
    "fails": (1, None, "KnownFailure: declined: try again\n"),
    "meets_a_lock": (3, None, "StoreLocked: ledger is locked: wait\n"),
    "leaves": (7, None, ""),
    "kills_itself": (KILLED, None, ""),
    "no_such_handler": (2, None, "BadHandler: handlers.py has no function `no_such_handler`: name one as FILE:FUNCTION\n"),
}  # fmt: skip


@pytest.mark.parametrize("function", ENDS)
def test_an_end_is_reported_as_it_was(world: Path, function: str) -> None:
    """Exit code or signal, what it returned, what it said: the error's own code for an error of labkit."""

    code, result, stderr = ENDS[function]
    run = ran(world, function)

    assert (code, result, stderr) == (run.returncode, run.result, run.stderr_tail)
    assert (f"{json.dumps(result)}\n" if result else "", False, None) == (
        run.stdout_tail,
        run.timed_out,
        run.boundary,
    )


def test_an_error_of_the_handlers_own_shows_its_line(world: Path) -> None:
    """Exit 1, and a traceback that ends in the handler's file."""

    run = ran(world, "raises")

    assert (run.returncode, run.result) == (1, None)
    assert "handlers.py" in run.stderr_tail
    assert run.stderr_tail.endswith("ValueError: of my own\n")


def test_what_is_no_json_is_returned_as_its_text(world: Path) -> None:
    """A promise is kept as it reads, whatever it was."""

    assert str(ran(world, "returns_an_object").result).startswith("<labkit.harness.world.World object")


def test_a_child_held_at_its_boundary_is_killed_there(world: Path) -> None:
    """-9, verified after it was reaped; the boundary that it reported, and not a word after it."""

    with ExecLauncher().start(spec_of(world, "announces", stop="hold", stop_at="effect.committed")) as child:
        reached = child.until_boundary()
        child.signal(signal.SIGKILL)
        run = child.finish("first")

    assert (reached, run.boundary) == ("effect.committed", "effect.committed")
    assert (run.returncode, run.result, run.stdout_tail, run.stderr_tail, run.timed_out) == (
        KILLED,
        None,
        "",
        "",
        False,
    )


def test_a_child_that_is_let_go_runs_on(world: Path) -> None:
    """It was held, not hurt."""

    with ExecLauncher().start(spec_of(world, "announces", stop="hold", stop_at="effect.requested")) as child:
        child.until_boundary()
        child.release()
        run = child.finish("first")

    assert (run.returncode, run.result, run.boundary) == (0, "went on", "effect.requested")


@pytest.mark.parametrize(("stop", "code"), [("kill_self", KILLED), ("exit_86", 86)])
def test_a_child_that_ends_itself_at_its_boundary_says_which(world: Path, stop: Any, code: int) -> None:
    """The report is out before the end."""

    run = ran(world, "announces", stop=stop, stop_at="effect.committed")

    assert (code, "effect.committed", None) == (run.returncode, run.boundary, run.result)


def test_a_boundary_that_never_comes_is_waited_for_no_longer_than_the_child_lives(world: Path) -> None:
    """None, at once: its end is noticed, not its deadline."""

    began_s = time.monotonic()
    with ExecLauncher().start(spec_of(world, "returns", stop="hold", stop_at="effect.committed")) as child:
        reached = child.until_boundary(60.0)
        run = child.finish("first", 60.0)

    assert (reached, run.boundary, run.returncode) == (None, None, 0)
    assert time.monotonic() - began_s < 30


# --- deadlines and bounds -------------------------------------------------------------------


@pytest.mark.parametrize("function", ["hangs", "ignores_sigterm_and_hangs", "prints_without_end"])
def test_a_child_past_its_deadline_is_killed_and_marked(world: Path, function: str) -> None:
    """Never taken for a crash that was asked for; the deadline runs from when the child was ready."""

    run = ran(world, function, deadline_s=0.3)

    assert (run.timed_out, run.returncode, run.result) == (True, KILLED, None)
    assert 300 <= run.elapsed_ms < 9000


def test_waiting_for_a_boundary_has_a_deadline_too(world: Path) -> None:
    """A handler that hangs before it does not hang the harness."""

    with ExecLauncher().start(spec_of(world, "hangs", stop="hold", stop_at="effect.committed")) as child:
        assert child.until_boundary(0.2) is None
        assert child.finish("first", 0.0).timed_out


def test_printing_without_end_is_bounded(world: Path) -> None:
    """It costs a few kilobytes, and the child is not blocked by a full pipe."""

    run = ran(world, "prints_without_end", deadline_s=1.0)

    assert [len(run.stdout_tail), len(run.stderr_tail)] == [TAIL_BYTES, TAIL_BYTES]
    assert ({"x", "\n"}, {"y", "\n"}) == (set(run.stdout_tail), set(run.stderr_tail))


def test_the_last_words_of_a_killed_child_are_kept(world: Path) -> None:
    """The tail, not the head: what it said last is why it is read."""

    run = ran(world, "prints_and_dies")

    assert (run.returncode, len(run.stdout_tail)) == (KILLED, TAIL_BYTES)
    assert run.stdout_tail.endswith("zzz\nlast words\n")


def test_a_long_result_arrives_whole(world: Path) -> None:
    """Longer than a pipe holds at once."""

    assert ran(world, "returns_much").result == "r" * 300_000


def test_noise_on_the_report_pipe_is_no_report(world: Path) -> None:
    """A handler can write wherever it likes; the harness neither believes it nor breaks."""

    run = ran(world, "scribbles_into_every_pipe")

    assert (run.returncode, run.result, run.boundary) == (0, "fine", None)


# --- nothing survives -----------------------------------------------------------------------


def test_a_grandchild_that_holds_the_pipes_does_not_block_and_does_not_survive(world: Path) -> None:
    """The child's own end counts, not the end of its pipes; its session ends with it."""

    began_s = time.monotonic()
    run = ran(world, "leaves_a_grandchild", deadline_s=60.0)
    pid = int((world / "pids").read_text())

    assert (run.returncode, run.result, run.timed_out) == (0, "done", False)
    assert time.monotonic() - began_s < 30
    assert all_gone([pid], SOON_S)


def test_killing_a_child_kills_its_session(world: Path) -> None:
    """What it had started goes with it."""

    with ExecLauncher().start(
        spec_of(world, "hangs_with_a_grandchild", stop="hold", stop_at="effect.requested")
    ) as child:
        child.until_boundary()
        pid = int((world / "pids").read_text())
        alive = is_alive(pid)
        child.signal(signal.SIGKILL)
        run = child.finish("first")

    assert (alive, run.returncode) == (True, KILLED)
    assert all_gone([pid], SOON_S)


def test_leaving_the_context_ends_the_child_at_once(world: Path) -> None:
    """Also when an error or Ctrl-C leaves it; there is no waiting for a deadline."""

    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt), ExecLauncher().start(spec_of(world, "hangs")) as child:
        raise KeyboardInterrupt
    assert not is_alive(child.pid)
    assert time.monotonic() - began_s < 5


def test_a_child_that_was_reaped_is_never_signalled(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pid may be somebody else's by then."""

    sent: list[int] = []
    with ExecLauncher().start(spec_of(world, "returns")) as child:
        child.finish("first")
        monkeypatch.setattr(os, "kill", lambda pid, _: sent.append(pid))
        monkeypatch.setattr(os, "killpg", lambda pid, _: sent.append(pid))
        child.signal(signal.SIGKILL)

    assert sent == []


def open_files() -> int:
    """How many descriptors this process holds; those of garbage may be closed at any time, so they go first."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_finished_child_leaves_no_descriptor_and_no_zombie(world: Path) -> None:
    """A sweep starts thousands."""

    ran(world, "returns")
    before = open_files()
    runs = [ran(world, function) for function in ("returns", "kills_itself", "leaves_a_grandchild")]

    assert before == open_files()
    for run in runs:
        with pytest.raises(ChildProcessError):
            os.waitpid(run.pid, os.WNOHANG)


def test_a_child_holds_nothing_of_its_parent(world: Path, tmp_path: Path) -> None:
    """No descriptor but its own pipes, and a session of its own, so that Ctrl-C is the parent's alone."""

    (tmp_path / "handlers.py").write_text(
        "import os\ndef fds(world):\n    return [sorted(map(int, os.listdir('/proc/self/fd'))), os.getsid(0) == os.getpid()]\n"
    )
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        fds, own_session = ran(world, "fds").result

    assert secret.name
    assert own_session
    # standard streams, the report and hold pipes, the listing itself
    assert len(fds) == 6


# --- when the harness itself is killed ------------------------------------------------------

HARNESS = """
import json, sys
from labkit.harness.child import ChildSpec
from labkit.harness.launchers import ExecLauncher
children = []
for text in sys.argv[1:]:
    spec = ChildSpec(**json.loads(text))
    children.append(ExecLauncher().start(spec))
    if spec.stop == "hold":
        assert children[-1].until_boundary() is not None
    else:
        while not children[-1].messages:
            children[-1]._drain(0.01)
print("READY", *(child.pid for child in children), flush=True)
sys.stdin.read()
"""


def test_when_the_harness_is_killed_no_child_is_alive_a_second_later(world: Path) -> None:
    """One waits at its boundary, one runs on without looking, one ignores what it can: all go."""

    specs = [spec_of(world, "announces", stop="hold", stop_at="effect.requested"),
             spec_of(world, "hangs"), spec_of(world, "ignores_sigterm_and_hangs")]  # fmt: skip
    arguments = [json.dumps(asdict(spec)) for spec in specs]
    with subprocess.Popen([sys.executable, "-I", "-c", HARNESS, *arguments],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as harness:  # fmt: skip
        assert harness.stdout is not None
        pids = [int(pid) for pid in harness.stdout.readline().split()[1:]]
        alive = list(map(is_alive, pids))
        harness.kill()
    gone = all_gone(pids, 1.0)

    assert (alive, harness.returncode) == ([True] * 3, KILLED)
    assert gone


SWEEPING = """
import json, sys
from labkit.harness.jobs import SweepJob
from labkit.harness.pool import Pool
job = SweepJob(**json.loads(sys.argv[1]))
with Pool(1) as pool:
    pool.one("control", job.as_json)
"""


def test_when_a_sweeping_harness_is_killed_everything_below_it_goes_too(world: Path) -> None:
    """The end runs down the line: to the warm process, the forked child, and what the handler had started."""

    place = [str(world.parent / "handlers.py"), "says_who_and_hangs"]
    job = {"scenario": "hangs", "template": str(world), "scratch": str(world.parent), "first": place, "resume": place,
           "judge": "labkit.learning.judge:judge", "deadline_s": 60.0}  # fmt: skip
    told = world.parent / "pids"
    with subprocess.Popen([sys.executable, "-I", "-c", SWEEPING, json.dumps(job)]) as harness:
        while not (told.exists() and len(told.read_text().split()) == 3):
            assert harness.poll() is None
            time.sleep(0.01)
        child, warm, grandchild = map(int, told.read_text().split())
        alive = list(map(is_alive, (child, warm, grandchild)))
        harness.kill()

    assert alive == [True, True, True]
    assert all_gone([child, warm, grandchild], SOON_S)


def test_a_child_that_is_born_when_the_harness_is_dead_already_leaves(world: Path) -> None:
    """The kernel tells only of deaths that happen after one has asked: so it looks once at its pipe."""

    report_read, report_write = os.pipe()
    hold_read, hold_write = os.pipe()
    os.close(hold_write)
    spec = json.dumps({"folder": str(world), "file": str(world.parent / "handlers.py"), "function": "hangs"})
    command = [sys.executable, "-I", "-m", "labkit.harness.child", spec, str(report_write), str(hold_read)]
    done = subprocess.run(
        command, pass_fds=(report_write, hold_read), timeout=30, capture_output=True, check=False
    )
    for fd in (report_read, report_write, hold_read):
        os.close(fd)

    assert (done.returncode, done.stdout) == (1, b"")


# --- starting -------------------------------------------------------------------------------


def test_a_process_with_threads_is_not_forked(world: Path) -> None:
    """A lock that another thread holds would stay locked in the child for ever."""

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with pytest.raises(HarnessError, match="threads cannot be forked safely"):
            ForkLauncher().start(spec_of(world, "returns"))
    finally:
        stop.set()
        thread.join()


def test_a_child_that_cannot_be_started_is_the_machines_fault(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3, and nothing is left open."""

    before = open_files()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(HarnessError, match="no child could be started") as raised:
        ExecLauncher().start(spec_of(world, "returns"))

    assert (3, before) == (raised.value.exit_code, open_files())


def test_a_run_can_be_repeated_by_hand(world: Path) -> None:
    """The command that an observation shows does what the child did, its kill included."""

    spec = spec_of(world, "announces", stop="hold", stop_at="effect.committed")
    by_hand = spec.command.replace("python -m", f"{sys.executable} -I -m", 1)
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {by_hand}"], capture_output=True, text=True, timeout=30, check=False
    )
    plain = spec_of(world, "returns").command.replace("python -m", f"{sys.executable} -I -m", 1)
    whole = subprocess.run(["/bin/sh", "-c", plain], capture_output=True, text=True, timeout=30, check=True)

    assert (done.returncode, done.stdout) == (KILLED, "")
    assert json.loads(whole.stdout) == {"paid": 4000, "by": "worker-1", "at": 1000}


def test_a_warm_process_is_light_to_fork() -> None:
    """`threading` costs every child of a process that has loaded it as much as its whole start does."""
    program = "import sys, labkit.harness.warm; print({'threading', 'subprocess'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
