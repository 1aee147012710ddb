"""The learner's loop in a terminal: next, hint, reset, check, watch."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import StoreUnwritable
from labkit.learning import own_files, predict, progress, readings
from labkit.learning.katas import Kata
from labkit.ui import answers, author, exercises, learner, watching
from labkit.ui.cli import main
from labkit.ui.notebook import open_kata

from .conftest import MODEL
from .test_commands_predict import lab


@pytest.fixture
def workspace(project: Path, tmp_path: Path) -> Path:
    """The learner's workspace in a project of one's own; it is not made yet."""
    return tmp_path / "workspace"


@pytest.fixture
def answer(workspace: Path) -> Path:
    """Where the learner's answer goes; its folder is there."""
    path = progress.answer_place(workspace, MODEL)
    path.parent.mkdir(parents=True)
    return path


def seal(kata: Kata, workspace: Path) -> None:
    with predict.journal(workspace) as journal:
        journal.seal(kata, predict.whole(kata, kata.author), 1)


def standing(capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """What `lab list` and `lab next` say of the only kata."""
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert main(["next", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found is None or found["standing"] == row["standing"]
    return row["standing"], found["do"] if found else []


def test_a_kata_from_new_to_done_and_back(
    workspace: Path, kata: Kata, solution: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert standing(capsys) == ("new", [f"lab read {MODEL}", f"lab predict {MODEL}"])
    assert not workspace.exists()
    seal(kata, workspace)
    assert standing(capsys) == ("predicted", [f"lab observe {MODEL}"])
    with predict.journal(workspace) as journal:
        readings.keep(journal, journal.all()[-1], predict.whole(kata, kata.author).answers, 2)
    assert standing(capsys) == ("predicted", [f"lab watch {MODEL}"])
    assert main(["read", "k03"]) == 0
    assert re.search(
        r"\nCan you write it\?\n.*\n\nNow write it yourself: lab watch \w+\n$",
        capsys.readouterr().out,
        re.DOTALL,
    )

    assert main(["reset", "k03"]) == 0
    answer = progress.answer_place(workspace, MODEL)
    starter = answer.read_text(encoding="utf-8")
    assert "raise NotImplementedError" in starter
    capsys.readouterr()
    assert main(["check", "k03"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == [
        "`resume` is not written yet.", "stuck: 32 of 36 crashes, first at point 1: line 13 of payment.py"
    ]  # fmt: skip
    assert shown[-2:] == [
        f"Stuck? lab hint {MODEL}", f"Each crash on the source: lab check {MODEL} --map"
    ]  # fmt: skip
    assert len(shown) <= 12
    assert standing(capsys) == ("fell short", [f"lab watch {MODEL}", f"lab hint {MODEL}"])

    answer.write_text(solution, encoding="utf-8")
    assert standing(capsys) == ("predicted", [f"lab watch {MODEL}"])
    assert main(["check", "k03"]) == 0
    assert "It passes at all 36 crash points" in capsys.readouterr().out
    assert standing(capsys) == ("done", [])
    assert main(["read", "k03"]) == 0
    assert '"How would you make this payment safe to retry?"' in capsys.readouterr().out
    assert main(["next"]) == 0
    assert "All 1 katas are done" in capsys.readouterr().out

    answer.write_text(solution + "\n", encoding="utf-8")
    assert standing(capsys) == ("edited", [f"lab check {MODEL}"])
    assert main(["list"]) == 0
    assert "edited since it passed" in capsys.readouterr().out


def test_next_reads_well(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next"]) == 0
    assert capsys.readouterr().out == (
        f"{MODEL}: The payment committed, then the worker died. Pay again?\n"
        "part 1, 20 minutes, not begun\n"
        f"  notebooks/{MODEL}.ipynb, or here:\n"
        f"  lab read {MODEL}\n"
        f"  lab predict {MODEL}\n"
    )


def test_read_shows_the_lesson_up_to_its_questions_and_no_answer(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", "k03"]) == 0
    shown = capsys.readouterr().out

    assert shown.startswith("The payment committed, then the worker died. Pay again?\n=====")
    assert "\nledger              insert     COMMIT" in shown
    assert "def pay(world: World) -> str:" in shown
    assert 'worker: exit code 0, said "committed"' in shown
    assert shown.endswith(
        f"exit code does that last process have?\n\nSay what you expect: lab predict {MODEL}\n"
    )
    assert "SIGKILL, " not in shown
    assert "sealed" not in shown
    assert not workspace.exists()


@pytest.mark.parametrize("content", [None, b"{", b"{}", b'{"cells": [7]}', b"\xff"])
def test_read_of_a_kata_that_was_not_built_says_how(
    workspace: Path, kata: Kata, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    solved = kata.folder / "solved.ipynb"
    solved.unlink() if content is None else solved.write_bytes(content)

    assert main(["read", "k03"]) == 2
    assert capsys.readouterr().err.endswith(f": lab author build {MODEL}\n")


def test_hints_come_one_step_at_a_time(
    workspace: Path, kata: Kata, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*options: str) -> list[str]:
        assert main(["hint", "k03", *options]) == 0
        return capsys.readouterr().out.splitlines()

    lines = [f"Hint {step} of 5: {hint}" for step, hint in enumerate(kata.hints, 1)]
    assert said("--again") == [f"No hint was shown yet: lab hint {MODEL}"]
    more = f"Still stuck? lab hint {MODEL} has one more."
    assert [said() for _ in range(3)] == [[line, more] for line in lines[:3]]
    assert said("--again") == lines[:3]
    assert [said() for _ in range(2)] == [[lines[3], more], [lines[4]]]
    assert said() == [*lines, f"Those are all the hints of {MODEL}."]


def test_hint_as_json_and_in_processes_of_their_own(workspace: Path, kata: Kata) -> None:
    first, second = lab("hint", "k03", "--json"), lab("hint", "k03", "--json")

    assert (first.returncode, second.returncode) == (0, 0)
    assert json.loads(second.stdout) == {
        "kata": MODEL,
        "shown": 2,
        "of": 5,
        "hints": [{"step": 2, "hint": kata.hints[1]}],
    }


def test_reset_keeps_what_was_written(project: Path, workspace: Path, kata: Kata, answer: Path) -> None:
    notebook = author.learners_place(kata)
    built = notebook.read_bytes()
    notebook.write_bytes(edited := built.replace(b"raise NotImplementedError", b"return 'mine'"))
    assert edited != built
    answer.write_text("mine = 1\n", encoding="utf-8")

    found = lab("reset", "k03")

    assert (found.returncode, found.stderr) == (0, "")
    assert notebook.read_bytes() == built
    assert answer.read_text(encoding="utf-8") == exercises.starter(kata)
    [kept] = (workspace / "backups").iterdir()
    assert kept.read_bytes() == edited
    [earlier] = (answer.parent / "earlier").iterdir()
    assert earlier.read_text(encoding="utf-8") == "mine = 1\n"
    assert str(kept) in found.stdout
    assert str(earlier) in found.stdout


def test_reset_twice_keeps_nothing_new(
    workspace: Path, kata: Kata, capsys: pytest.CaptureFixture[str]
) -> None:
    author.learners_place(kata).unlink()
    assert main(["reset", "k03"]) == 0
    before = sorted(workspace.rglob("*"))
    assert main(["reset", "k03"]) == 0

    assert sorted(workspace.rglob("*")) == before
    assert "is kept" not in capsys.readouterr().out
    assert author.learners_place(kata).read_text(encoding="utf-8") == author.learners_text(kata)


def test_a_notebook_saved_meanwhile_is_left_alone(
    workspace: Path, kata: Kata, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = author.learners_place(kata)
    notebook.write_text("first", encoding="utf-8")
    put = own_files.put

    def saved_meanwhile(path: Path, content: bytes) -> None:
        put(path, content)
        notebook.write_text("second", encoding="utf-8")

    monkeypatch.setattr(own_files, "put", saved_meanwhile)

    assert main(["reset", "k03"]) == 2
    assert "was saved meanwhile" in capsys.readouterr().err
    assert notebook.read_text(encoding="utf-8") == "second"


def test_an_unwritable_backup_leaves_the_notebook(
    workspace: Path, kata: Kata, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = author.learners_place(kata)
    notebook.write_text("mine", encoding="utf-8")
    workspace.mkdir()
    (workspace / "backups").write_text("a file where the folder should be", encoding="utf-8")

    assert main(["reset", "k03"]) != 0
    assert notebook.read_text(encoding="utf-8") == "mine"


def test_check_without_an_answer_says_how_to_get_one(workspace: Path) -> None:
    found = lab("check", "k03")

    assert (found.returncode, found.stdout) == (2, "")
    assert f"`lab watch {MODEL}` writes the exercise" in found.stderr


def test_check_gives_the_sweep_that_the_notebook_gives(answer: Path, solution: str) -> None:
    """A handler that pays twice: found by the command and by the notebook, value for value."""
    wrong = solution.replace("if found.status ==", 'if "absent" ==').replace(
        "operation.operation_id, operation.action", 'operation.operation_id + ":again", operation.action'
    )
    assert wrong != solution
    answer.write_text(wrong, encoding="utf-8")

    found = lab("check", "k03", "--json")
    names: dict[str, Any] = {}
    exec(compile(wrong, str(answer), "exec"), names)
    swept = open_kata(MODEL).check(names["resume"])

    assert found.returncode == 1
    assert json.loads(found.stdout) == json.loads(json.dumps(asdict(swept)))
    assert "lost" in str(swept) or "duplicate" in str(swept) or "corrupt" in str(swept)


NO_ANSWERS = {
    "no Python": (b"def resume(world:\n", "line 1 is no Python"),
    "a null byte": (b"def resume(world):\n    return '\0'\n", "is no Python"),
    "another encoding": (
        b"# \xff\ndef resume(world):\n    return 1\n",
        "is not UTF-8: save it in that encoding",
    ),
    "a byte-order mark": (b"\xef\xbb\xbfdef resume(world):\n    return 1\n", "save it as UTF-8 without one"),
    "another function": (b"def repay(world):\n    return 1\n", "has no function `resume`"),
    "nothing": (b"", "has no function `resume`"),
}


@pytest.mark.parametrize(("source", "message"), NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_what_is_no_answer_is_one_line(
    workspace: Path, answer: Path, capsys: pytest.CaptureFixture[str], source: bytes, message: str
) -> None:
    answer.write_bytes(source)

    for command in (["check", "k03"], ["trial", "k03", "--at", "1"]):
        assert main(command) == 2
        complaint = capsys.readouterr().err
        assert message in complaint
        assert complaint.count("\n") == 1
    assert not (workspace / progress.FILE).exists()


NO_FILES: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES.keys())
def test_what_is_no_file_is_named_and_left_alone(
    answer: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], object]
) -> None:
    def looks() -> tuple[int, ...]:
        """All but the time of the last look: reading a link moves that."""
        status = answer.lstat()
        return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    make(answer)
    before = looks()

    assert main(["list"]) == main(["next"]) == 0
    for command in ("check", "trial", "watch", "reset"):
        assert main([command, "k03"]) == 2
        assert capsys.readouterr().err == f"{answer} is no file: move it away\n"
    assert looks() == before


def test_an_answer_that_cannot_be_written_leaves_the_one_before(
    kata: Kata, workspace: Path, answer: Path
) -> None:
    """The system refuses the write for real, as it would on a full disk."""
    answer.write_text("mine\n", encoding="utf-8")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        with pytest.raises(StoreUnwritable, match="free or mend the disk"):
            answers.save("longer than twenty bytes\n", kata, workspace)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert answer.read_text(encoding="utf-8") == "mine\n"
    assert [path.name for path in answer.parent.iterdir() if path.is_file()] == [answer.name]


def test_a_workspace_that_is_a_file_is_one_line(
    tmp_path: Path, kata: Kata, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").write_text("mine", encoding="utf-8")
    monkeypatch.setenv("LAB_WORKSPACE", str(tmp_path / "notes"))

    assert main(["list"]) == 0
    for command in ("watch", "hint", "reset"):
        assert main([command, "k03"]) == 3
        complaint = capsys.readouterr().err
        assert "a file lies there or above it: set LAB_WORKSPACE" in complaint
        assert complaint.count("\n") == 1
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "mine"


def test_another_file_changes_no_progress(
    workspace: Path, tmp_path: Path, solution: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.py"
    other.write_text(solution, encoding="utf-8")

    assert main(["check", "k03", str(other)]) == 0
    assert "It passes at all 36 crash points" in capsys.readouterr().out
    assert not (workspace / progress.FILE).exists()
    assert main(["check", "k03", str(tmp_path / "none.py")]) == 2


def test_an_answer_edited_during_its_check_passes_nothing(
    workspace: Path,
    answer: Path,
    solution: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer.write_text(solution, encoding="utf-8")
    grade = learner.engine.grade

    def edited_meanwhile(*arguments: Any, **more: Any) -> Any:
        swept = grade(*arguments, **more)
        answer.write_text("raise SystemExit\n", encoding="utf-8")
        return swept

    monkeypatch.setattr(learner.engine, "grade", edited_meanwhile)

    assert main(["check", "k03"]) == 1
    assert "was edited while it was checked" in capsys.readouterr().err
    assert not (workspace / progress.FILE).exists()


SETTLED = {
    "first seen": ("a", "a", None, True),
    "given already": ("a", "a", "a", False),
    "still being written": ("b", "a", "a", False),
    "written": ("b", "b", "a", True),
    "away": (None, None, "a", False),
    "just back": ("b", None, "a", False),
}


@pytest.mark.parametrize(("now", "before", "given", "settled"), SETTLED.values(), ids=SETTLED.keys())
def test_bytes_count_when_two_looks_find_them(
    now: str | None, before: str | None, given: str | None, settled: bool
) -> None:
    assert watching.is_settled(now, before, given) is settled


def test_every_save_of_other_bytes_is_given(tmp_path: Path) -> None:
    path = tmp_path / "answer.py"
    path.write_text("one", encoding="utf-8")
    saves = watching.saves(path, 0.05)
    given = [next(saves)]
    (tmp_path / "new").write_text("two", encoding="utf-8")
    (tmp_path / "new").replace(path)
    given.append(next(saves))

    assert given[0] != given[1]
    assert given[1] == progress.digest_of(path)


@pytest.fixture
def watcher(workspace: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`lab watch k03`, in a session of its own, ended with the test."""
    child = subprocess.Popen(
        [sys.executable, "-m", "labkit.ui.cli", "watch", "k03", "--every", "0.1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    yield child
    if child.poll() is None:
        child.kill()
    child.communicate()


def read_until(child: subprocess.Popen[str], pattern: str) -> list[str]:
    """The lines up to the first that matches; pytest's timeout bounds the wait."""
    assert child.stdout is not None
    lines = []
    for line in child.stdout:
        lines.append(line.rstrip("\n"))
        if re.search(pattern, line):
            return lines
    raise AssertionError(f"it ended without {pattern}: {lines}")


def save(path: Path, text: str) -> None:
    """Save a file at once: no look at it finds it empty, however long we are held up meanwhile."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def interrupted(child: subprocess.Popen[str]) -> tuple[int, str]:
    """Ctrl-C: SIGINT to the whole foreground group, as a terminal sends it."""
    os.killpg(child.pid, signal.SIGINT)
    _rest, errors = child.communicate(timeout=60)
    return child.returncode, errors


def test_watch_checks_each_save_and_ends_by_ctrl_c(
    watcher: subprocess.Popen[str], workspace: Path, solution: str
) -> None:
    answer = progress.answer_place(workspace, MODEL)
    lines = read_until(watcher, "Stuck")
    assert lines[0] == "Can you write it?"
    assert any(line.startswith("The exercise was written to ") for line in lines)
    assert any("write `resume` and save" in line for line in lines)
    assert "`resume` is not written yet." in lines
    assert "stuck: 32 of 36 crashes, first at point 1: line 13 of payment.py" in lines
    assert f"  lab trial {MODEL} --at 1" in lines

    save(answer, "def resume(world:\n")
    assert read_until(watcher, "not checked|Stuck")[-1] == (
        f"not checked: {MODEL}.py line 1 is no Python ('(' was never closed): mend it and save"
    )

    save(answer, solution)
    lines = read_until(watcher, "Done")
    assert lines[-2].startswith("36 crash points")
    assert lines[-2].endswith("pass")

    assert interrupted(watcher) == (0, "")
    with progress.progress(workspace) as opened:
        digest = progress.digest_of(answer)
        assert opened.checks(MODEL)[-1] == progress.Check(str(digest), True)


def test_ctrl_c_while_a_pass_is_told_finds_it_kept(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has read "Done" has a pass, however quick their fingers are."""

    def interrupt(_round: watching.Round) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "saves", lambda _path, _every_s: iter(["digest"]))
    monkeypatch.setattr(watching, "checked", lambda *_: watching.Round(("Done",), passed=True))
    monkeypatch.setattr(watching, "show", interrupt)

    assert main(["watch", "k03"]) == 0


def test_watch_ended_short_of_a_pass_exits_1(watcher: subprocess.Popen[str]) -> None:
    read_until(watcher, "Stuck")

    assert interrupted(watcher) == (1, "")


def test_watch_refuses_a_pace_that_cannot_be(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "k03", "--every", "0"]) == 2
    assert "give seconds from 0.05 to 60" in capsys.readouterr().err
    assert not workspace.exists()
