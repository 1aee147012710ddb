"""`lab sweep` as a person or a pipeline meets it: the real process, from another folder."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labkit.harness import sweep_files

ROOT = Path(__file__).parents[2]
LAB = Path(sys.executable).with_name("lab")
ORDERS = ROOT / "data" / "examples" / "orders"
DEADLINE_S = 100
STATEMENTS = ("--points", "statement")

Lab = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Runs `lab sweep` with these words, in a new folder."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [LAB, "sweep", *words], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S
        )

    return run


def line_of(file: str, text: str) -> int:
    """The line of an example on which this text stands."""
    lines = (ORDERS / file).read_text(encoding="utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_the_right_handler_exits_0(lab: Lab) -> None:
    """Every line, statement and boundary; nothing on stderr, and what a sweep does not show is said."""

    done = lab(str(ORDERS / "right.py"))

    assert (done.returncode, done.stderr) == (0, "")
    assert "exactly_one" in done.stdout
    assert "SIGKILL shows process death. It does not show power loss" in done.stdout


WRONG = {
    "new_key.py": ("duplicate", 'mark(journal, order["id"], "paid")', "2 effects for one intent"),
    "checkpoint_first.py": ("phantom_progress", "pay(bank, key=", "recorded as done, and there is no effect"),
    "gives_up.py": ("lost", "pay(bank, key=", "the workflow is over, and there is no effect"),
}


@pytest.mark.parametrize("file", WRONG)
def test_a_wrong_handler_exits_1_and_names_the_line(lab: Lab, file: str) -> None:
    """The first line of the output is a place, a point, a verdict and the rows it rests on."""

    verdict, text, because = WRONG[file]
    done = lab(str(ORDERS / file), *STATEMENTS)

    first = done.stdout.splitlines()[0]
    assert done.returncode == 1
    assert first.startswith(f"{ORDERS / file}:{line_of(file, text)}: ")
    assert f"at line {line_of(file, text)}" in first
    assert f": {verdict}: order 1001: {because}" in first


def test_one_trial_is_shown_in_three_columns(lab: Lab) -> None:
    """What was promised, what is recorded, what happened."""

    done = lab(str(ORDERS / "new_key.py"), *STATEMENTS, "--at", "5")

    words = done.stdout.split()
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].endswith("new_key.py: 5 BEGIN at line 19")
    assert [w for w in words if w in ("promised", "recorded", "happened")] == [
        "promised",
        "recorded",
        "happened",
    ]
    assert "run 1: died" in done.stdout
    assert 'run 2: "paid"' in done.stdout
    assert "order 1001: 2" in done.stdout
    assert lab(str(ORDERS / "new_key.py"), *STATEMENTS, "--at", "0").returncode == 0


def test_two_kills_are_named_by_two_numbers(lab: Lab) -> None:
    """The first in the run, the second in its resume."""

    done = lab(str(ORDERS / "new_key.py"), *STATEMENTS, "--at", "5,5")

    assert done.returncode == 1
    assert "run 2: died" in done.stdout
    assert "order 1001: 3" in done.stdout


def test_a_wrong_end_that_takes_three_crashes_is_named_and_repeated(lab: Lab) -> None:
    """Every single kill passes; depth `all` shows the shortest way to the duplicate as one command."""

    planted = ROOT / "tests" / "harness" / "planted" / "third_time.py"
    done = lab(str(planted), "--points", "statement,boundary", "--depth", "all")

    lines = done.stdout.splitlines()
    command = lines[-1].removeprefix("repeat one: lab sweep ").split()
    assert done.returncode == 1
    assert lines[0].startswith(f"{planted}:")
    assert lines[0].count(", then ") == 2
    assert ": duplicate: payments: 2 effects for one intent" in lines[0]
    assert "0 fell short, a wrong end can be reached" in lines[-2]
    assert len(command[-1].split(",")) == 3
    assert lab(*command).returncode == 1


def test_every_kind_of_file_is_written_once(lab: Lab, tmp_path: Path) -> None:
    """Evidence is never overwritten: a second sweep into the same file changes no byte and kills nothing."""

    files = {kind: tmp_path / f"sweep.{kind}" for kind in ("json", "html", "junit", "markdown")}
    words = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    assert lab(str(ORDERS / "new_key.py"), *STATEMENTS, *words).returncode == 1

    swept = sweep_files.read(files["json"])
    assert swept.verdicts == {"exactly_one", "duplicate"}
    assert "duplicate" in files["html"].read_text(encoding="utf-8")
    assert "new_key" in files["markdown"].read_text(encoding="utf-8")
    cases = list(ElementTree.parse(files["junit"]).getroot().iter("testcase"))
    assert len(cases) == len(swept.results) + 1

    before = {path: path.read_bytes() for path in files.values()}
    again = lab(str(ORDERS / "new_key.py"), *STATEMENTS, "--json", str(files["json"]))
    assert again.returncode == 2
    assert again.stdout == ""
    assert "exists already" in again.stderr
    assert {path: path.read_bytes() for path in files.values()} == before


def test_a_script_for_each_failing_point_runs_it_again(lab: Lab, tmp_path: Path) -> None:
    """Each stands alone: any Python that has labkit runs it, from any folder."""

    folder = tmp_path / "again"
    assert lab(str(ORDERS / "new_key.py"), *STATEMENTS, "--reproduce", str(folder)).returncode == 1

    scripts = sorted(path for path in folder.iterdir() if path.suffix == ".py")
    assert [path.name for path in scripts] == [
        "point-005-begin-at-line-19.py", "point-006-update-at-line-19.py", "point-007-commit-at-line-19.py",
    ]  # fmt: skip
    ran = subprocess.run(
        [sys.executable, scripts[0]], cwd="/", capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.splitlines()[0] == "killed at  5 BEGIN at line 19"
    assert ran.stdout.splitlines()[-1] == "duplicate: order 1001: 2 effects for one intent"


def test_only_the_verdicts_that_were_named_fail(lab: Lab) -> None:
    """`--fail-on` narrows what makes a pipeline red, and says so for what is no verdict."""

    assert lab(str(ORDERS / "gives_up.py"), *STATEMENTS, "--fail-on", "duplicate").returncode == 0
    assert lab(str(ORDERS / "gives_up.py"), *STATEMENTS, "--fail-on", "duplicate,lost").returncode == 1
    wrong = lab(str(ORDERS / "gives_up.py"), "--fail-on", "sad")
    assert wrong.returncode == 2
    assert "--fail-on sad is no verdict: choose from corrupt" in wrong.stderr


def test_the_self_test_says_which_guards_it_misses(lab: Lab) -> None:
    """The key and the record are missed at once; the early return is not, since the bank knows the key."""

    done = lab("--self-test", str(ORDERS / "right.py"), *STATEMENTS)

    rows = [line.split() for line in done.stdout.splitlines()]
    found = {row[0]: " ".join(row).partition("noticed")[0].endswith("not ") for row in rows if row[:1] and row[0] in ("if", "key", "record")}  # fmt: skip
    assert done.returncode == 0
    assert found == {"if": True, "key": False, "record": False}
    assert "nothing removed: exactly_one; 2 of 3 removals noticed, 1 not" in done.stdout


def test_the_self_test_of_a_wrong_handler_stops_at_its_control(lab: Lab) -> None:
    """Noticing means nothing where the handler falls short by itself."""

    done = lab("--self-test", str(ORDERS / "new_key.py"), *STATEMENTS)

    assert done.returncode == 1
    assert "mend that before guards are removed" in done.stderr


WRONG_USE = {
    "nothing": ((), "nothing to sweep: name FILE:FUNCTION"),
    "no file": (("gone.py",), "gone.py is missing"),
    "no function": ((str(ORDERS / "right.py:other"),), "right.py has no function `other`"),
    "depth": (("x.py", "--depth", "9"), "--depth 9 is not known: choose from 1, 2, all"),
    "at": (("x.py", "--at", "four"), "--at is four: give the numbers of points"),
    "at none": ((str(ORDERS / "right.py"), "--at", "-1"), "--at counts points from 1"),
    "at past the end": (
        (str(ORDERS / "right.py"), "--at", "999"),
        "there is no point 999: choose from 1 to 15",
    ),
    "jobs": (("x.py", "--jobs", "100"), "--jobs is 100: give a number from 1 to 64"),
    "a command without a reader": (("--command", "python x.py"), "--command and --facts go together"),
    "a used folder": ((str(ORDERS / "right.py"), "--reproduce", "."), "is not empty"),
    "no program": (
        (str(ORDERS / "right.py"), "--command", "/no/python {world}", "--facts", str(ORDERS / "shop.py")),
        "/no/python cannot be run",
    ),
}


@pytest.mark.parametrize(("words", "said"), WRONG_USE.values(), ids=WRONG_USE.keys())
def test_wrong_use_is_one_line_and_exit_2(
    lab: Lab, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    """It names the thing and the cure, and nothing is written."""

    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    done = lab(*words)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_broken_infrastructure_is_exit_3(lab: Lab, tmp_path: Path) -> None:
    """A handler that kills the process above it cannot be scored."""

    (tmp_path / "murder.py").write_text(
        "import os, signal\nfrom pathlib import Path\n"
        "def crash_facts(folder): return {'a': {'effects': 0, 'recorded': False}}\n"
        "def handler(folder): os.kill(os.getppid(), signal.SIGKILL)\n",
        encoding="utf-8",
    )
    done = lab("murder.py", "--points", "line")

    assert done.returncode == 3
    assert "died 2 times at task control" in done.stderr


@pytest.fixture
def slow_handler(tmp_path: Path) -> tuple[Path, str]:
    """A handler that hangs when it is resumed, and a text that stands in its processes' command lines."""
    token = f"599.{os.getpid()}"
    file = tmp_path / "slow.py"
    file.write_text(
        f"import subprocess, sys\nfrom pathlib import Path\nsys.path.insert(0, {str(ORDERS)!r})\n"
        "from right import crash_facts, crash_world, handler as pay\n"
        "def handler(folder):\n"
        "    if (folder / 'began').exists():\n"
        "        Path(__file__).with_name(f'{folder.name}.where').write_text(str(folder))\n"
        f"        subprocess.run(['sleep', '{token}'])\n"
        "    (folder / 'began').touch()\n"
        "    answer = pay(folder)\n"
        "    (folder / 'began').unlink()\n"
        "    return answer\n",
        encoding="utf-8",
    )
    return file, token


def to_the_end(terminal: int) -> str:
    """What a terminal shows until nobody writes to it any more."""
    shown = b""
    with suppress(OSError):  # Linux says so by EIO
        while data := os.read(terminal, 65536):
            shown += data
    return shown.decode()


def sleeps(token: str) -> bool:
    """Whether the handler's grandchild is there."""
    return token in subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True).stdout


def test_ctrl_c_leaves_no_child(slow_handler: tuple[Path, str]) -> None:
    """A bar shows on the terminal; an interrupt ends the warm processes, their children and theirs."""

    file, token = slow_handler
    parent, terminal = pty.openpty()
    with subprocess.Popen(
        [LAB, "sweep", file, "--deadline", "60", *STATEMENTS],
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, start_new_session=True, cwd=file.parent,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = ""
        while not sleeps(token):
            shown += os.read(parent, 65536).decode()
        process.send_signal(signal.SIGINT)
        shown += to_the_end(parent)
        process.wait(DEADLINE_S)
    os.close(parent)

    assert process.returncode == 130
    assert "sweep" in shown
    assert not sleeps(token)
    places = [place for path in file.parent.glob("*.where") if (place := path.read_text())]
    assert places != []
    assert not any(Path(place).exists() for place in places)
