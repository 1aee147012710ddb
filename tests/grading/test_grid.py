"""`lab grade --scheduler`: the same bytes from a Dask cluster, whoever of it dies on the way."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import Conflict
from labkit.grading import gradebook, grid, grounds
from labkit.learning import katas
from labkit.ui.cli import main

from .classes import KATA, SLUG, solution

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(400)]
FILES = ("grades.csv", "results.json", "junit.xml", "class.html")
START_S = 60.0


@dataclass(frozen=True)
class Cluster:
    """A scheduler and its workers, each a process of its own and no nanny to bring one back."""

    address: str
    workers: tuple[subprocess.Popen[bytes], ...]


def dask(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        f"distributed.cli.dask_{program}",
        "--host",
        "127.0.0.1",
        "--no-dashboard",
    ]
    return subprocess.Popen([*command, *map(str, arguments)], stderr=subprocess.DEVNULL)


def until(found: Callable[[], Any], what: str) -> Any:
    """Look again and again until something is found; not to hit a moment."""
    ends_s = time.monotonic() + START_S
    while not (something := found()):
        assert time.monotonic() < ends_s, what
        time.sleep(0.02)
    return something


@contextmanager
def running(folder: Path, workers: int) -> Iterator[Cluster]:
    file = folder / "scheduler.json"
    programs = [dask("scheduler", "--port", 0, "--scheduler-file", file)]
    options = ("--nthreads", 1, "--no-nanny", "--local-directory", folder / "dask")
    programs += [dask("worker", "--scheduler-file", file, *options) for _ in range(workers)]
    try:
        until(lambda: file.exists() and file.read_text(encoding="utf-8"), "no scheduler came up")
        yield Cluster(json.loads(file.read_text(encoding="utf-8"))["address"], tuple(programs[1:]))
    finally:
        for program in programs[::-1]:
            program.kill()
            program.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers for all tests; the last one kills one of them."""
    with running(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


@pytest.fixture
def students(tmp_path: Path) -> Path:
    """A small class of which three answers have to be run."""
    folder = tmp_path / "class"
    mutant = (KATA / "mutants" / "new_key.py").read_text(encoding="utf-8")
    answers = {"ann": solution(), "bob": solution(), "cleo": mutant, "nobody": "", "odd": "def resume(:"}
    for name, source in answers.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "k03.py").write_text(source, encoding="utf-8")
    return folder


def grading(students: Path, out: Path, *options: object) -> list[str]:
    with gradebook.opened(out) as book:
        book.put("secret", "the same worlds for all")
    words = ("grade", students, "--out", out, "--kata", "k03", *options)
    return [sys.executable, "-m", "labkit.ui.cli", *map(str, words)]


def children(pid: int) -> list[int]:
    """The children of every thread of a process, where it is still there."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, thread.read_text(encoding="utf-8").split())
        except OSError:
            continue
    return found


def at_work(worker: subprocess.Popen[bytes]) -> list[int]:
    """The sandboxes below a worker: worker, judging process, warm process, sandbox."""
    return [box for judging in children(worker.pid) for warm in children(judging) for box in children(warm)]


def marks_in(out: Path) -> int:
    with closing(sqlite3.connect(f"file:{out / gradebook.FILE}?mode=ro", uri=True)) as book:
        return int(book.execute("SELECT count(*) FROM marks").fetchone()[0])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_grader_that_ends_leaves_no_task_running_and_no_folder_that_nobody_removes(
    cluster: Cluster, students: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    grader = subprocess.Popen(
        grading(students, tmp_path / "out", "--scheduler", cluster.address),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: any(at_work(worker) for worker in cluster.workers), "no worker was ever at work")

    grader.send_signal(number)
    said = grader.communicate(timeout=60)[1]

    assert grader.returncode == code
    assert said in (b"", b"interrupted\n")
    until(lambda: not any(children(worker.pid) for worker in cluster.workers), "a task runs on")
    assert all(worker.poll() is None for worker in cluster.workers)
    with gradebook.opened(tmp_path / "out") as book:
        left = Path(book.setting("home", ""))
        assert left.name.startswith("lab-grade-")
        assert left.exists() == (number == signal.SIGKILL)
        book.claim_scratch(tmp_path / "the next grader's")
    assert not left.exists()


def test_workers_on_other_ground_are_refused(
    cluster: Cluster, students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Another kata, seen before anything is sent; and by a worker that came later, of its first task."""
    usual = grounds.digest_of
    monkeypatch.setattr(grounds, "digest_of", lambda _kata: "0" * 64)
    words = ["grade", str(students), "--out", str(tmp_path / "out"), "--kata", "k03"]

    assert main([*words, "--scheduler", cluster.address]) == 2

    said = capsys.readouterr().err
    assert said.startswith("the worker tcp://127.0.0.1:")
    assert f"is refused: {SLUG} is " in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(grounds, "digest_of", usual)
    with grid.connected(cluster.address, "auto", [katas.find("k03")]) as place:
        monkeypatch.setattr(grounds, "digest_of", lambda _kata: "0" * 64)
        with pytest.raises(Conflict, match=f"that came later is refused: {SLUG} is "):
            list(place.judge([grid.Task(SLUG, solution())]))


def test_a_cluster_without_workers_or_without_a_scheduler_is_no_place(
    students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(grid, "NO_WORKER_S", 1.5)
    words = ["grade", str(students), "--out", str(tmp_path / "out"), "--kata", "k03", "--scheduler"]
    with running(tmp_path, 0) as empty:
        for address, code, said in (
            (
                empty.address,
                3,
                f"the Dask scheduler at {empty.address} has had no worker for 1.5 s: start one",
            ),
            ("127.0.0.1:1", 3, "no Dask scheduler answers at 127.0.0.1:1 ("),
            ("nonsense", 2, "--scheduler nonsense is no address ("),
        ):
            if address != empty.address:  # where nobody answers, waiting longer shows no more
                monkeypatch.setattr(grid, "CONNECT_S", 1.5)
            assert main([*words, address]) == code
            heard = capsys.readouterr().err
            assert heard.startswith(said)
            assert heard.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_dask_the_extra_is_named(
    students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["grade", str(students), "--out", str(tmp_path / "out"), "--scheduler", "127.0.0.1:1"]
    monkeypatch.setitem(sys.modules, "distributed", None)

    assert main(words) == 2
    assert (
        capsys.readouterr().err
        == "--scheduler needs Dask, which is not installed: pip install labkit[grid]\n"
    )
    assert main([*words, "--jobs", "2"]) == 2
    assert "--jobs and --scheduler exclude each other" in capsys.readouterr().err


def test_a_worker_dies_and_the_bytes_are_those_of_two_jobs(
    cluster: Cluster, students: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"

    grader = subprocess.Popen(
        grading(students, there, "--scheduler", cluster.address),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    busy = until(
        lambda: marks_in(there) > 2 and [worker for worker in cluster.workers if at_work(worker)],
        "after the first result no worker was at work",
    )
    busy[0].send_signal(signal.SIGKILL)
    said = grader.communicate(timeout=300)[1]

    assert (grader.returncode, said) == (1, b"")
    assert busy[0].wait() == -signal.SIGKILL
    here_too = grading(students, here, "--jobs", 2)
    assert subprocess.run(here_too, stdout=subprocess.DEVNULL, check=False).returncode == 1
    for file in (*FILES, *(f"feedback/{path.name}" for path in (here / "feedback").iterdir())):
        assert (there / file).read_bytes() == (here / file).read_bytes(), file
    assert len(list((there / "feedback").iterdir())) == marks_in(there) == 5
    with gradebook.opened(there) as book:  # nothing was put down twice
        assert [book.earlier(path.name, SLUG) for path in students.iterdir()] == [[]] * 5
