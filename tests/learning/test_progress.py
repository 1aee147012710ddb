"""Progress: a pass belongs to exact bytes, and whatever kills a writer leaves all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadStore
from labkit.learning import predict, progress
from labkit.learning.katas import Kata
from labkit.learning.progress import Check, Look
from labkit.stores import sqlite

from .conftest import ANSWERS
from .writers import DEATHS, WRITERS, all_at_once, require_all_or_nothing

PASSED, FAILED = Check("a" * 64, True), Check("a" * 64, False)
OTHER_PASSED, OTHER_FAILED = Check("b" * 64, True), Check("b" * 64, False)

STANDS = {
    "nothing": (False, [], None, "new"),
    "an answer nobody checked": (False, [], "a" * 64, "new"),
    "a prediction": (True, [], None, "predicted"),
    "a prediction and an answer nobody checked": (True, [], "a" * 64, "predicted"),
    "a pass of these bytes": (True, [OTHER_FAILED, PASSED], "a" * 64, "done"),
    "a pass without a prediction": (False, [PASSED], "a" * 64, "passes"),
    "a failure": (True, [FAILED], "a" * 64, "fell short"),
    "a pass, then a failure of other bytes": (True, [PASSED, OTHER_FAILED], "b" * 64, "fell short"),
    "an edit after the pass": (True, [PASSED], "c" * 64, "edited"),
    "an answer lost after the pass": (True, [PASSED], None, "edited"),
    "an edit undone": (True, [PASSED, OTHER_FAILED], "a" * 64, "done"),
    "the same bytes, failing since": (True, [PASSED, FAILED], "a" * 64, "fell short"),
    "an edit after failures alone": (True, [FAILED], "c" * 64, "predicted"),
    "a pass of other bytes": (True, [OTHER_PASSED], "a" * 64, "edited"),
}


@pytest.mark.parametrize(("predicted", "checks", "digest", "stands"), STANDS.values(), ids=STANDS.keys())
def test_how_a_kata_stands(predicted: bool, checks: list[Check], digest: str | None, stands: str) -> None:
    assert progress.standing(predicted, checks, digest) == stands


def test_an_edit_makes_it_pending_and_undoing_it_done(kata: Kata, tmp_path: Path) -> None:
    answer = progress.answer_place(tmp_path, kata.slug)
    answer.parent.mkdir()
    answer.write_text("right", encoding="utf-8")
    with predict.journal(tmp_path) as journal:
        journal.seal(kata, predict.whole(kata, ANSWERS), 1)
    digest = progress.digest_of(answer)
    assert digest is not None
    with progress.progress(tmp_path) as opened:
        opened.add_check(kata.slug, Check(digest, True), 2)

    assert progress.standings(tmp_path, [kata]) == {kata.slug: (1, "done")}
    answer.write_text("right ", encoding="utf-8")
    assert progress.standings(tmp_path, [kata]) == {kata.slug: (1, "edited")}
    answer.write_text("right", encoding="utf-8")
    assert progress.standings(tmp_path, [kata]) == {kata.slug: (1, "done")}


def test_looking_makes_no_file(kata: Kata, tmp_path: Path) -> None:
    assert progress.standings(tmp_path / "workspace", [kata]) == {kata.slug: (0, "new")}
    assert not (tmp_path / "workspace").exists()


def test_hints_come_one_at_a_time_and_are_remembered(kata: Kata, tmp_path: Path) -> None:
    steps = []
    for now_ms in range(4):
        with progress.progress(tmp_path) as opened:
            steps.append(opened.next_hint(kata, now_ms))

    assert steps == [1, 2, 0, 0]
    with progress.progress(tmp_path) as opened:
        assert (opened.hints_shown(kata.slug), opened.hints_shown("k02_other")) == (2, 0)


def test_what_was_observed_last_stands(tmp_path: Path) -> None:
    with progress.progress(tmp_path) as opened:
        opened.put_observed("k01_small", {"effects": 1, "finished": True}, 1)
        opened.put_observed("k01_small", {"effects": 2, "who": "ledger"}, 2)

        assert opened.observed() == {"k01_small": {"effects": 2, "finished": True, "who": "ledger"}}


def test_the_last_look_stands_also_in_a_store_of_the_first_version(tmp_path: Path) -> None:
    first = sqlite.Schema("progress", progress.SCHEMA.application_id, 1, progress.FIRST_SQL)
    sqlite.create(tmp_path / progress.FILE, first).close()
    with progress.progress(tmp_path) as opened:
        assert opened.look("k01_small") is None
        for number in (3, 0):
            opened.put_look("k01_small", Look("a" * 64, number), number)

        assert opened.look("k01_small") == Look("a" * 64, 0)
        assert opened.look("k02_other") is None


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "another's file": lambda path: path.write_bytes(b"my shopping list"),
    "an empty file": lambda path: path.write_bytes(b""),
    "a truncated file": lambda path: path.write_bytes(path.read_bytes()[:-100]),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, damage: Callable[[Path], Any]) -> None:
    progress.progress(tmp_path).db.close()
    path = tmp_path / progress.FILE
    damage(path)
    before = path.read_bytes()

    with pytest.raises(BadStore, match=progress.FILE):
        progress.progress(tmp_path)
    assert path.read_bytes() == before


STORE = """
from labkit.learning import progress

def put(folder, values):
    with progress.progress(folder) as opened:
        opened.put_observed("k01", values, 1)

def put_old(folder):
    put(folder, {"one": 0, "two": 0})

def put_new(folder):
    put(folder, {"one": 1, "two": 1, "three": "x" * 9000})

def stands(folder):
    with progress.progress(folder) as opened:
        found = opened.observed().get("k01", {})
    return {name: value if isinstance(value, int) else len(value) for name, value in found.items()}

def add(folder, number):
    with progress.progress(folder) as opened:
        opened.add_check("k01", progress.Check(str(number), True), 1)
"""


@pytest.mark.parametrize("is_new", [True, False], ids=["a store being made", "a store that stands"])
@pytest.mark.parametrize("how", DEATHS)
def test_a_kill_in_a_write_leaves_all_or_nothing(tmp_path: Path, how: str, is_new: bool) -> None:
    old = {} if is_new else {"one": 0, "two": 0}

    require_all_or_nothing(tmp_path, STORE, how, is_new, old, new={"one": 1, "two": 1, "three": 9000})


def test_twenty_at_once_are_twenty_checks(tmp_path: Path) -> None:
    """They race to make the store, too."""
    workspace = tmp_path / "workspace"

    assert all_at_once(workspace, STORE) == [0] * WRITERS

    with progress.progress(workspace) as opened:
        assert {check.answer_digest for check in opened.checks("k01")} == set(map(str, range(WRITERS)))
    assert [path.name for path in workspace.iterdir()] == [progress.FILE]
