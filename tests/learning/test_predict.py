"""The prediction journal: whole predictions only, appended for ever, all or nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadPrediction, BadStore, StoreUnwritable
from labkit.learning import predict
from labkit.learning.katas import Kata

from .conftest import ANSWERS
from .writers import DEATHS, WRITERS, all_at_once, require_all_or_nothing


def sealed_by(kata: Kata, workspace: Path, now_ms: int = 5, **changed: Any) -> predict.Sealed:
    with predict.journal(workspace) as journal:
        return journal.seal(kata, predict.whole(kata, ANSWERS | changed), now_ms)


def all_of(workspace: Path) -> list[predict.Sealed]:
    with predict.journal(workspace) as journal:
        return journal.all()


REFUSED = {
    "a field is not asked": ({"causes": 1}, "does not ask for `causes`"),
    "a field is still open": ({"effects": ...}, "not answered yet: effects"),
    "a field is None": ({"who": None}, "not answered yet: who"),
    "a number is text": ({"effects": "1"}, "`effects` is '1': give a whole number"),
    "a number is beyond reason": ({"effects": 10**400}, "nine digits at most"),
    "a number is too long to spell": ({"effects": 10**5000}, "`effects` is too long: give a whole number"),
    "a number is a boolean": ({"effects": True}, "`effects` is True"),
    "a boolean is a number": ({"finished": 1}, "`finished` is 1: give True or False"),
    "a choice is none": ({"who": "nobody"}, '`who` is \'nobody\': give one of "ledger", "journal"'),
    "a certainty is beyond reason": (
        {"certainty": 101},
        "the certainty is '101': give one of <67, 67-80, >80",
    ),
    "a certainty is no band": ({"certainty": "50-60"}, "the certainty is '50-60'"),
    "a certainty is a boolean": ({"certainty": True}, "the certainty is 'True'"),
    "a reason is empty": ({"because": "  "}, "`because` gives no reason"),
    "a reason is in another encoding": ({"because": "\udcff"}, "`because` is not UTF-8"),
    "a reason is open": ({"because": ...}, "not answered yet: because"),
}


@pytest.mark.parametrize(("changed", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_whole_is_refused(kata: Kata, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(BadPrediction) as raised:
        predict.whole(kata, ANSWERS | changed)
    assert message in str(raised.value)


@pytest.mark.parametrize(("given", "band"), [(85, ">80"), ("67", "67-80"), ("<67", "<67")])
def test_a_number_of_per_cent_falls_into_its_band(kata: Kata, given: object, band: str) -> None:
    """By call as in a terminal."""
    assert predict.whole(kata, ANSWERS | {"certainty": given}).certainty == band


def test_everything_that_waits_is_named_at_once(kata: Kata) -> None:
    with pytest.raises(BadPrediction, match="not answered yet: finished, who, certainty"):
        predict.whole(kata, {"effects": 1, "because": "so"})


def test_a_prediction_is_a_row_and_a_second_one_is_a_second_row(kata: Kata, tmp_path: Path) -> None:
    first = sealed_by(kata, tmp_path)
    second = sealed_by(kata, tmp_path, now_ms=6, effects=2)

    assert all_of(tmp_path) == [first, second]
    assert (first.prediction_id, second.prediction_id) == (1, 2)
    assert second.previous_digest == first.digest
    assert first.prediction == predict.Prediction(
        {"effects": 1, "finished": True, "who": "ledger"}, ">80", "The rows stay."
    )
    with predict.journal(tmp_path) as journal:
        assert journal.latest(kata) == second


def test_answers_come_back_in_the_order_of_the_questions(kata: Kata, tmp_path: Path) -> None:
    sealed_by(kata, tmp_path)

    with predict.journal(tmp_path) as journal:
        latest = journal.latest(kata)

    assert latest is not None
    assert list(latest.prediction.answers) == ["effects", "finished", "who"]


@pytest.mark.parametrize("statement", ["UPDATE predictions SET because = 'x'", "DELETE FROM predictions"])
def test_a_row_cannot_be_changed(kata: Kata, tmp_path: Path, statement: str) -> None:
    before = sealed_by(kata, tmp_path)

    with (
        predict.journal(tmp_path) as journal,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        journal.db.execute(statement)
    assert all_of(tmp_path) == [before]


TAMPERED = {
    "changed": "UPDATE predictions SET certainty = '<67' WHERE prediction_id = 2",
    "removed": "DELETE FROM predictions WHERE prediction_id = 2",
    "the first removed": "DELETE FROM predictions WHERE prediction_id = 1",
    "renumbered": "UPDATE predictions SET prediction_id = 9 WHERE prediction_id = 3",
}


@pytest.mark.parametrize("statement", TAMPERED.values(), ids=TAMPERED.keys())
def test_tampering_breaks_the_chain(kata: Kata, tmp_path: Path, statement: str) -> None:
    for effects in (1, 2, 3):
        sealed_by(kata, tmp_path, effects=effects)
    db = sqlite3.connect(tmp_path / predict.FILE)
    db.executescript(
        f"DROP TRIGGER predictions_never_change; DROP TRIGGER predictions_never_go; {statement};"
    )
    db.close()

    with pytest.raises(BadStore, match="the chain breaks at prediction"):
        all_of(tmp_path)


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / predict.FILE).write_bytes(b"my shopping list")

    with pytest.raises(BadStore, match="not a store"):
        predict.journal(tmp_path)
    assert (tmp_path / predict.FILE).read_bytes() == b"my shopping list"


def test_a_workspace_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnwritable, match="cannot be made"):
        predict.journal(tmp_path / "file" / "workspace")


def store_of(kata: Kata) -> str:
    """What writers of the journal of predictions do."""
    return f"""
from labkit.learning import katas, predict

kata = katas.load(Path({str(kata.folder)!r}))

def add(folder, number):
    with predict.journal(folder) as journal:
        journal.seal(kata, predict.whole(kata, {ANSWERS} | {{"effects": number}}), number)

def put_old(folder):
    add(folder, 1)

def put_new(folder):
    add(folder, 7)

def stands(folder):
    with predict.journal(folder) as journal:
        return [[one.prediction_id, one.prediction.answers["effects"]] for one in journal.all()]
"""


def test_twenty_at_once_are_twenty_rows(kata: Kata, tmp_path: Path) -> None:
    """They race to make the journal, too: it is not there when they start."""
    workspace = tmp_path / "workspace"

    assert all_at_once(workspace, store_of(kata)) == [0] * WRITERS

    assert sorted(one.prediction.answers["effects"] for one in all_of(workspace)) == list(range(WRITERS))
    assert [path.name for path in workspace.iterdir()] == [predict.FILE]


@pytest.mark.parametrize("is_new", [True, False], ids=["a journal being made", "a journal that stands"])
@pytest.mark.parametrize("how", DEATHS)
def test_a_kill_leaves_all_or_nothing_of_a_row_and_spoils_no_other(
    kata: Kata, tmp_path: Path, how: str, is_new: bool
) -> None:
    """A writer is killed in each place, from the making of the file to the commit of the row."""
    old = [] if is_new else [[1, 1]]

    require_all_or_nothing(tmp_path, store_of(kata), how, is_new, old, new=[*old, [len(old) + 1, 7]])
