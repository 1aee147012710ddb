"""`lab predict`, `lab observe` and `lab review`: the same journal as the notebook's, and feedback that knows its limits."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.learning import predict, progress
from labkit.learning.katas import Kata
from labkit.learning.predict import Sealed
from labkit.ui.cli import main

from .conftest import MODEL

OPTIONS = [
    "--set", "payments_at_the_kill=1", "--set", "checkpoints_at_the_kill=0", "--set", "payments_after_resume=1",
    "--set", "payments_with_new_key=1", "--set", "exit_code_with_new_key=0",
]  # fmt: skip
WHOLE = [*OPTIONS, "--certainty", ">80", "--because", "The provider knows it."]
ANSWERS = {
    "payments_at_the_kill": 1,
    "checkpoints_at_the_kill": 0,
    "payments_after_resume": 1,
    "payments_with_new_key": 1,
    "exit_code_with_new_key": 0,
}


def lab(*arguments: str, typed: str | bytes = "") -> subprocess.CompletedProcess[str]:
    """`lab` in a process of its own."""
    given = typed if isinstance(typed, bytes) else typed.encode()
    ran = subprocess.run(
        [sys.executable, "-m", "labkit.ui.cli", *arguments], capture_output=True, input=given, timeout=110
    )
    return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def sealed(workspace: Path) -> list[Sealed]:
    with predict.journal(workspace) as journal:
        return journal.all()


@pytest.fixture
def workspace(project: Path, tmp_path: Path) -> Path:
    """The learner's workspace in a project of one's own; it is not made yet."""
    return tmp_path / "workspace"


def test_questions_are_asked_until_each_has_an_answer(workspace: Path) -> None:
    typed = "many\n1\n0\n\n1\n1\n0\n101\n> 80 %\n\n The provider  knows it. \n"

    found = lab("predict", "k03", typed=typed)

    assert found.returncode == 0
    assert found.stderr.splitlines() == [
        "`payments_at_the_kill` is 'many': give a whole number, nine digits at most",
        "`payments_after_resume` was left empty: give a whole number, nine digits at most",
        "the certainty is '101': give one of <67, 67-80, >80, or a number from 0 to 100",
        "`because` gives no reason: write the reason in a sentence, wrong ones cost nothing",
    ]
    assert "The worker gets SIGKILL" in found.stdout
    assert "5 of 5: Exit code of that last process\n  (a whole number)" in found.stdout
    [one] = sealed(workspace)
    assert one.prediction == predict.Prediction(ANSWERS, ">80", "The provider knows it.")


@pytest.mark.parametrize(
    "typed",
    ["", "1\n0\n", "1\n0\n1\n1\n0\n>80\n", "1\n0\n1\n1\n0\n>80\nBecau", b"1\n0\n1\n1\n0\n>80\n\xff\xfe\n"],
)
def test_answers_that_end_early_seal_nothing(workspace: Path, typed: str | bytes) -> None:
    found = lab("predict", "k03", typed=typed)

    assert found.returncode == 2
    assert found.stderr.count("\n") == 1 + found.stderr.count("not UTF-8: type it again")
    assert not workspace.exists()


def test_a_damaged_journal_is_said_before_anything_is_asked(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.mkdir()
    (workspace / predict.FILE).write_text("my shopping list", encoding="utf-8")

    assert main(["predict", "k03"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "move it away: a new predictions.sqlite3 is made" in shown.err
    assert (workspace / predict.FILE).read_text(encoding="utf-8") == "my shopping list"


def test_options_are_not_asked_for(workspace: Path) -> None:
    found = lab("predict", MODEL, *OPTIONS[2:], "--because", "So.", typed="1\n67-80\n")

    assert (found.returncode, found.stderr) == (0, "")
    assert "1 of 1: Payments in the ledger" in found.stdout
    [one] = sealed(workspace)
    assert (one.prediction.answers, one.prediction.certainty) == (ANSWERS, "67-80")


def test_a_script_gets_json_and_says_it_twice_without_a_second_row(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "k03", *WHOLE, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["predict", "k03", *WHOLE, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)

    assert first == second
    assert first["sealed"]["prediction"]["answers"] == ANSWERS
    assert len(sealed(workspace)) == 1


REFUSED = {
    "an unknown field": (["--set", "causes=1"], "does not ask for `causes`"),
    "no equals sign": (["--set", "payments_at_the_kill"], "give FIELD=ANSWER"),
    "a field twice": (
        ["--set", "payments_at_the_kill=1", "--set", "payments_at_the_kill=2"],
        "each field once",
    ),
    "an answer of another kind": (["--set", "payments_at_the_kill=one"], "give a whole number"),
    "a number beyond reason": (["--set", f"payments_at_the_kill={10**400}"], "give a whole number"),
    "no band": (["--certainty", "sure"], "give one of <67, 67-80, >80"),
    "json without answers": (["--json"], "not answered yet: payments_at_the_kill"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_one_line_and_seals_nothing(
    workspace: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["predict", MODEL, *options]) == 2

    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1
    assert not workspace.exists()


def test_observe_shows_what_a_ledger_answered_where_it_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """k11 asks what the ledger answers to a changed order, and the rows that say it are the calls."""
    monkeypatch.setenv("LAB_WORKSPACE", str(tmp_path / "workspace"))
    answers = [
        option
        for field in ("payments_revoked_before=0", "checkpoints_revoked_before=0", "payments_revoked_after=1",
                      "checkpoints_revoked_after=1", "answer_to_changed_order=key")
        for option in ("--set", field)
    ]  # fmt: skip
    assert main(["predict", "k11", *answers, "--certainty", "85", "--because", "History first."]) == 0
    assert main(["observe", "k11", *answers]) == 0

    shown = capsys.readouterr().out
    assert re.search(r"payments\.invocations:\n.*\n.* committed +1000\n(.* key_conflict +2000\n){2}", shown)
    assert "5 of 5 right, at >80 % certainty. 5 of 5 read right." in shown


READ = ["--set", "payments_with_new_key=2", *OPTIONS[:6], *OPTIONS[8:]]


def test_observe_kills_reads_and_checks_and_review_tells(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["observe", "k03", *READ]) == 2
    assert capsys.readouterr().err == f"no prediction is sealed for {MODEL}: lab predict {MODEL} first\n"
    assert main(["predict", "k03", *WHOLE]) == 0
    assert capsys.readouterr().out.endswith(f"read the rows: lab observe {MODEL}\n")
    assert main(["review"]) == 0
    assert "No prediction was compared with the rows yet" in capsys.readouterr().out

    assert main(["observe", "k03", *OPTIONS[2:]]) == 2  # stdin is no terminal
    assert "not read yet: payments_at_the_kill: give --set" in capsys.readouterr().err
    assert not (workspace / "runs").exists()
    assert main(["observe", "k03", *READ]) == 0
    shown = capsys.readouterr().out
    assert "worker: SIGKILL" in shown
    assert "at the kill, journal.operations:\nstep    operation_id       state\ncharge" in shown
    assert "4 of 5 right, at >80 % certainty. 5 of 5 read right." in shown
    assert "recognises a repetition by its key" in shown

    assert main(["observe", "k03", "--json"]) == 0  # what was read is not asked again
    assert json.loads(capsys.readouterr().out)["misread"] == 0
    assert main(["review"]) == 0  # no terminal: it asks nothing
    shown = capsys.readouterr().out
    assert "4 of 5 answers right" in shown
    assert "5 of 5 read right from the rows, at first sight" in shown
    assert "Below 10 there is no score." in shown
    assert "5 of 10 answers: too few to draw" in shown
    assert "Brier" not in shown
    assert (
        f"{MODEL}, >80 % sure: Payments after the resume that takes a new key\n  you said 1, the rows say 2."
        in shown
    )
    assert shown.endswith(f"  lab review {MODEL}\n")
    plot = workspace / "plot.svg"
    assert main(["review", "--svg", str(plot)]) == 1
    assert capsys.readouterr().err == f"5 of 10 answers: too few to draw; {plot} was not written\n"
    assert not plot.exists()
    for options in (["--run"], [MODEL], ["--run", "--json"], ["--run", "--svg", "x"]):
        assert main(["review", *options]) == 2
        assert "asking again takes a terminal" in capsys.readouterr().err


def on_a_terminal(*arguments: str) -> tuple[subprocess.Popen[str], int]:
    """`lab` in a process that has a terminal for its stdin, and that terminal's other end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "labkit.ui.cli", *arguments],
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(theirs)
    return process, ours


def test_a_terminal_is_asked_again_until_ctrl_c(workspace: Path, kata: Kata) -> None:
    """`lab review`: Enter, a whole new prediction, the rows, and then an interruption at the first question."""
    with predict.journal(workspace) as journal, progress.progress(workspace) as opened:
        journal.seal(kata, predict.whole(kata, kata.author), 1)
        opened.put_observed(MODEL, ANSWERS | {"payments_with_new_key": 2}, 2)
    process, terminal = on_a_terminal("review")
    assert process.stdout is not None
    os.write(terminal, b"\n1\n0\n1\n2\n0\n>80\nI saw it.\n")
    shown = ""
    while "What do the rows above say?" not in shown:
        shown += process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=60)
    os.close(terminal)

    assert process.returncode == 130
    assert f"lab observe {MODEL} goes on from what is sealed" in complaints
    assert f"Enter begins with {MODEL}, q leaves: \n=== 1 of 1: {MODEL}" in shown
    assert "Prediction 2, sealed." in shown
    assert "worker: SIGKILL" in shown
    assert [one.prediction.because for one in sealed(workspace)][1:] == ["I saw it."]

    process, terminal = on_a_terminal("observe", "k03")
    os.write(terminal, b"one\n1\n0\n1\n1\n0\n")
    shown, complaints = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 0
    assert complaints == "`payments_at_the_kill` is 'one': give a whole number, nine digits at most\n"
    assert "5 of 5 right, at >80 % certainty. 4 of 5 read right. Your reason: I saw it." in shown
    assert "Misread: you read 1, and the rows say 2." in shown


def test_review_scores_ten_answers_and_more(
    project: Path, workspace: Path, kata: Kata, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two katas of five fields each: one error in ten, each said at >80 %."""
    for copy in ("k04_other",):
        (project / "katas" / copy).mkdir()
        for file in kata.folder.glob("*.*"):
            (project / "katas" / copy / file.name).write_bytes(file.read_bytes())
    true = ANSWERS | {"payments_with_new_key": 2}
    with predict.journal(workspace) as journal, progress.progress(workspace) as opened:
        for slug, answers in ((MODEL, ANSWERS), ("k04_other", true)):
            from labkit.learning import katas

            given = {**answers, "certainty": ">80", "because": "so"}
            one = katas.find(slug)
            journal.seal(one, predict.whole(one, given), 1)
            opened.put_observed(slug, true, 2)

    assert main(["review"]) == 0
    shown = capsys.readouterr().out
    assert "9 of 10 answers right" in shown
    assert "Brier score 0.09: 0 is perfect" in shown  # (9 * 0.01 + 0.81) / 10
    assert ">80          ····················░░●░░  9 of 10  0.09   no difference shown" in shown
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "1 One boundary at a time 9 of 10 0.09 9/10" in rows
    assert "an order is known again without its key 1 of 2 too few 1/2" in rows
    assert "Of 6 beliefs that a wrong answer could have shown, 5 show nowhere." in shown
    plot = workspace / "plot.svg"
    assert main(["review", "--json", "--svg", str(plot)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["overall"]["brier"] == pytest.approx(0.09)
    assert found["again"] == [MODEL]
    assert [(one["answers"], one["bands"][2]["right"]) for one in found["parts"]] == [(10, 9)]
    assert (found["beliefs"][0]["believed"], found["beliefs"][0]["answers"]) == (1, 2)
    drawn = plot.read_bytes()
    assert b"9 of 10 first answers right" in drawn
    assert main(["review", "--svg", str(plot)]) == 2  # what lies there is kept
    assert "plot.svg" in capsys.readouterr().err
    assert plot.read_bytes() == drawn
