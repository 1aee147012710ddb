"""`lab` as a person or a program meets it: the real process, its exit codes and its two streams."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from labkit import __version__, errors
from labkit.ui import cli, output

LAB = Path(sys.executable).with_name("lab")
DEADLINE_S = 100

Lab = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Runs `lab` with these words, in a new folder."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([LAB, *words], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S)

    return run


def files(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- wrong use ------------------------------------------------------------------------------

WRONG_USE: dict[str, tuple[str, str]] = {
    "an unknown command": ("bogus", "No such command 'bogus': see `lab --help`"),
    "an unknown option": ("study --bogus", "No such option: --bogus"),
    "a demo without a folder": ("demo", "Missing option '--out'"),
    "a demo into a folder in use": ("demo --out used", "used is not empty: choose a new folder"),
    "a demo in place of a file": ("demo --out used/packet.json", "choose a new folder"),
    "a study without a file": ("study", "give either --out FILE.json or --verify FILE.json"),
    "a study with both": ("study --out a.json --verify b.json", "give either --out"),
    "no repetition": (
        "study --repetitions 0 --out a.json",
        "--repetitions is 0: give a number from 1 to 20",
    ),
    "a repetition too many": (
        "study --repetitions 21 --out a.json",
        "--repetitions is 21: give a number from 1 to 20",
    ),
    "repetitions in words": ("study --repetitions three --out a.json", "Invalid value for '--repetitions'"),
    "a packet to be overwritten": ("study --out used/packet.json", "used/packet.json exists already"),
    "a packet in a missing folder": ("study --out none/a.json", "none is not a folder: make it first"),
    "verifying what is not there": ("study --verify none.json", "none.json cannot be read"),
    "verifying what is no packet": (
        "study --verify used/packet.json",
        "used/packet.json is not an evidence packet",
    ),
    "verifying a folder": ("study --verify used", "used cannot be read"),
    "a checkup of no folder": ("doctor none", "none is not a folder"),
    "a checkup of a folder without stores": ("doctor used", "used holds no store"),
}


@pytest.mark.parametrize(("words", "complaint"), WRONG_USE.values(), ids=WRONG_USE.keys())
def test_wrong_use_is_one_line_exit_2_and_changes_nothing(
    lab: Lab, tmp_path: Path, words: str, complaint: str
) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "packet.json").write_text('{"mine": 1}', encoding="utf-8")
    before = files(tmp_path)

    done = lab(*words.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert ": " in done.stderr  # what it is, and after it the cure
    assert "Traceback" not in done.stderr
    assert files(tmp_path) == before


# --- demo -----------------------------------------------------------------------------------


def test_the_demo_shows_both_workflows_as_json_and_runs_once(lab: Lab, tmp_path: Path) -> None:
    done = lab("demo", "--out", "d", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [flow["child"]["exit_code"] for flow in found["workflows"].values()] == [86, 86]
    keyed, keyless = found["workflows"]["idempotent"], found["workflows"]["non_idempotent"]
    assert (keyed["effects"], keyed["replayed"], len(keyed["resumes"])) == (1, True, 4)
    assert (keyless["effects"], keyless["state"]) == (1, "UNKNOWN_OUTCOME")
    assert found["total_effects"] == 2
    db = sqlite3.connect(tmp_path / "d" / "simulated-tool-ledger.sqlite3")
    assert db.execute("SELECT count(*) FROM effects").fetchone() == (2,)
    db.close()
    assert json.loads((tmp_path / "d" / "receipt.json").read_text(encoding="utf-8")).items() <= found.items()

    before = files(tmp_path)
    again = lab("demo", "--out", "d")
    assert (again.returncode, again.stdout) == (2, "")
    assert files(tmp_path) == before


@pytest.mark.parametrize("size_bytes", [1_000, 45_000, 50_000])
def test_a_full_disk_is_the_machines_failure_and_one_line(tmp_path: Path, size_bytes: int) -> None:
    """Whether it fills while the stores are made or in a child: files may not grow beyond this size."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    done = subprocess.run(
        [LAB, "demo", "--out", "d"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        preexec_fn=limit,
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert "could not be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "d" / "receipt.json").exists()


def test_the_demo_speaks_to_people_too(lab: Lab) -> None:
    done = lab("demo", "--out", "d")

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 effects in the ledger; evidence in d" in done.stdout
    assert "It does not show power loss" in done.stdout


# --- study ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The study of issue's size: its packet, and what `--json` printed."""
    path = tmp_path_factory.mktemp("study") / "s.json"
    words = [LAB, "study", "--repetitions", "3", "--out", path, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, "")
    return path, json.loads(done.stdout)


def test_the_study_is_21_trials_with_the_effects_of_the_contract(
    study: tuple[Path, dict[str, Any]],
) -> None:
    path, found = study
    packet = json.loads(path.read_text(encoding="utf-8"))

    assert found["totals"]["trials"] == len(packet["trials"]) == 21
    assert found["totals"]["passed"] == 21
    assert list(found["totals"]["final_effects"].values()) == [[n] * 3 for n in (1, 1, 1, 1, 2, 0, 1)]
    for record in found["trials"]:
        killed = record["case"] != "control"
        assert record["returncodes"] == ([-9, 0] if killed else [0])
    pids = [pid for record in found["trials"] for pid in record["pids"]]
    assert len(set(pids)) == len(pids) == 39
    assert found["deployment_authorized"] is packet["deployment_authorized"] is False


def test_a_study_verifies_and_one_changed_byte_of_a_snapshot_does_not(
    study: tuple[Path, dict[str, Any]], lab: Lab, tmp_path: Path
) -> None:
    path, _found = study
    whole = lab("study", "--verify", str(path))
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "21 trials, every digest and verdict holds" in whole.stdout

    data = path.read_bytes()
    place = data.index(b'"amount_minor": 4000') + 17
    (tmp_path / "edited.json").write_bytes(data[:place] + b"5" + data[place + 1 :])
    edited = lab("study", "--verify", "edited.json")

    assert (edited.returncode, edited.stdout) == (1, "")
    assert "trial 1: the interruption rows do not fit their digest" in edited.stderr
    assert all(line.startswith("edited.json: ") for line in edited.stderr.splitlines())
    as_json = json.loads(lab("study", "--verify", "edited.json", "--json").stdout)
    assert as_json["passed"] is False
    assert as_json["problems"]


def test_a_second_study_into_the_same_file_changes_no_byte(
    study: tuple[Path, dict[str, Any]], lab: Lab
) -> None:
    before = study[0].read_bytes()

    done = lab("study", "--repetitions", "1", "--out", str(study[0]))

    assert done.returncode == 2
    assert study[0].read_bytes() == before


def test_the_study_says_safety_and_task_beside_each_other(lab: Lab) -> None:
    done = lab("study", "--repetitions", "1", "--out", "s.json")

    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "not safe" in lines["mutant_new_key"]
    assert "caught 1/1" in lines["mutant_new_key"]
    assert "not safe" not in lines["revoke_before_effect"]
    assert "not resolved" in lines["revoke_before_effect"]
    assert "no reliability estimate" in done.stdout
    assert "7 of 7 as expected; s.json" in done.stdout


def test_the_budget_study_shows_the_allowance(lab: Lab) -> None:
    done = lab("study", "--budget", "--repetitions", "1", "--out", "b.json")

    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "1 -> 1 -> 0" in lines["kill_before_commit"]
    assert "1 -> 0 -> 0" in lines["replay"]
    assert lab("study", "--verify", "b.json").returncode == 0


def test_a_bar_is_drawn_on_a_terminal_only(tmp_path: Path) -> None:
    """The tests above had nothing on stderr; here it is a terminal."""
    ours, theirs = pty.openpty()
    words = [LAB, "study", "--repetitions", "1", "--out", tmp_path / "s.json", "--json"]
    child = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    drawn = b""
    try:
        while data := os.read(ours, 65536):
            drawn += data
    except OSError:  # how Linux says that the other end of a terminal is closed
        pass
    os.close(ours)
    stdout, _ = child.communicate(timeout=DEADLINE_S)

    assert child.returncode == 0
    assert b"interventions study" in drawn
    assert b"7/7" in drawn
    assert json.loads(stdout)["totals"]["passed"] == 7


# --- doctor ---------------------------------------------------------------------------------


def test_the_doctor_looks_at_the_machine(lab: Lab) -> None:
    done = lab("doctor", "--json")

    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["passed"] is True
    by_name = {finding["what"]: finding["found"] for finding in found["findings"]}
    assert sqlite3.sqlite_version in by_name["sqlite"]
    assert by_name["journal mode"].split()[0] in ("delete", "wal:")


def test_the_doctor_looks_at_a_folder_and_names_what_is_broken(lab: Lab, tmp_path: Path) -> None:
    lab("demo", "--out", "d")
    (tmp_path / "d" / "world.json").unlink()
    whole = lab("doctor", "d")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "simulated-tool-ledger.sqlite3" in whole.stdout

    ledger = tmp_path / "d" / "simulated-tool-ledger.sqlite3"
    db = sqlite3.connect(ledger)
    db.execute("UPDATE effects SET amount_minor = 1 WHERE effect_id = 1")
    db.commit()
    db.close()
    edited = lab("doctor", "d", "--json")
    assert edited.returncode == 1
    assert json.loads(edited.stdout)["passed"] is False
    assert edited.stderr.splitlines() == [f"{ledger.name}: the receipt of effect 1 does not fit its digest"]

    ledger.write_bytes(b"")
    emptied = lab("doctor", "d")
    assert emptied.returncode == 2
    assert "is empty: keep it as evidence and restore a copy" in emptied.stderr
    assert emptied.stderr.count("\n") == 1
    assert ledger.read_bytes() == b""


# --- lab itself -----------------------------------------------------------------------------


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; from labkit.ui.cli import main; assert main(['--help']) == 0\n"
        "print(sorted({'pandas', 'IPython', 'altair', 'drawsvg', 'jinja2', 'nbformat'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.stdout.splitlines()[-1] == "[]"


def test_notebooks_are_read_without_a_grammar_of_addresses() -> None:
    """jsonschema would load it for over a second, in every command that has to do with a notebook."""
    program = "import sys, labkit.ui.cli, nbformat; print(sys.modules['rfc3987_syntax'], 'jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.stdout == "None True\n"


def test_lab_alone_shows_its_help_and_its_version(lab: Lab) -> None:
    alone = lab()
    assert (alone.returncode, alone.stderr) == (0, "")
    assert "Usage: lab" in alone.stdout
    assert {"demo", "study", "doctor"} <= set(alone.stdout.split())
    assert lab("--version").stdout == f"{__version__}\n"


def raising(error: BaseException) -> Callable[..., None]:
    """An application that does nothing but fail."""

    def app(**_words: Any) -> None:
        raise error

    return app


ENDINGS: dict[str, tuple[BaseException, int, str]] = {
    "wrong use": (errors.BadStore("a", "b"), 2, "a: b\n"),
    "fell short": (errors.StaleClaim("a\nb"), 1, "a b\n"),
    "infrastructure": (errors.StoreLocked("a", "b"), 3, "a: b\n"),
    "a lock outlived": (errors.StoreUnwritable("disk full", "free space"), 3, "disk full: free space\n"),
    "may not": (PermissionError(13, "Permission denied", "x"), 2, "change its permissions"),
    "disk full": (OSError(28, "No space left on device"), 3, "No space left on device"),
    "a bug": (KeyError("x"), 3, "KeyError: 'x': a bug in labkit"),
    "interrupted": (KeyboardInterrupt(), 130, "interrupted\n"),
    "aborted": (typer.Abort(), 130, "interrupted\n"),
}


@pytest.mark.parametrize(("error", "exit_code", "said"), ENDINGS.values(), ids=ENDINGS.keys())
def test_every_way_out_has_its_exit_code_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    exit_code: int,
    said: str,
) -> None:
    monkeypatch.setattr(cli, "app", raising(error))

    assert cli.main([]) == exit_code

    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert said in stderr
    assert stderr.count("\n") == 1


def test_a_bug_shows_where_it_is_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_TRACEBACK", "1")
    monkeypatch.setattr(cli, "app", raising(KeyError("x")))

    assert cli.main([]) == 3

    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path) -> None:
    """`lab doctor --json | head -1`: no complaint, and none of Python's on its way out."""
    child = subprocess.Popen(
        [LAB, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    complaint = child.stderr.read()
    child.stderr.close()

    assert child.wait(DEADLINE_S) in (0, 1)
    assert complaint == b""


def test_tables_show_cells_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """A cell with brackets is no markup, None is nothing, and a pipe is not folded at 80 columns."""
    output.print_table(("what", "found"), [("[bold]", None), ("x" * 60, "y" * 60)], title="[1]")

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "[1]"
    assert "[bold]" in "".join(lines)
    assert "None" not in "".join(lines)
    assert any("x" * 60 in line and "y" * 60 in line for line in lines)


def test_json_takes_frozen_values_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    from labkit.values import BudgetPolicy

    output.print_json({"policy": BudgetPolicy(max_effects=1), "out": Path("a/b"), "names": {"b", "a"}})

    assert json.loads(capsys.readouterr().out) == {
        "policy": {"max_effects": 1, "caps_minor": []},
        "out": "a/b",
        "names": ["a", "b"],
    }
    with pytest.raises(TypeError):
        output.print_json(object())
