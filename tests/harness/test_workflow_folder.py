"""The folder of `lab workflow`: whole or not there, one driver at a time, action files read strictly."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadAction, BadOption, BadStore, KnownFailure, OutputInUse, StoreLocked
from labkit.harness import workflow_folder
from labkit.harness.action_files import read_action
from labkit.harness.failing import failing
from labkit.stores.authority import Authority
from labkit.values import Action

NAMES = ["authority.sqlite3", "journal.sqlite3", "ledger.sqlite3"]


def names(folder: Path) -> list[str]:
    """What lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_appears_with_all_three_stores(tmp_path: Path) -> None:
    """Folders above it are made too, and nothing else is left behind."""

    folder = tmp_path / "a" / "b"
    workflow_folder.create_folder(folder)

    assert (names(folder), names(tmp_path / "a")) == (NAMES, ["b"])
    with workflow_folder.opened(folder) as session:
        assert session.parties.authority.policy_version() == 1


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    """It may have been made by hand."""

    workflow_folder.create_folder(tmp_path)

    assert names(tmp_path) == NAMES


def test_stores_that_are_there_are_kept(tmp_path: Path) -> None:
    """Byte for byte."""

    workflow_folder.create_folder(tmp_path / "w")
    before = {path.name: path.read_bytes() for path in (tmp_path / "w").iterdir()}
    workflow_folder.create_folder(tmp_path / "w")

    assert {path.name: path.read_bytes() for path in (tmp_path / "w").iterdir()} == before


def test_a_folder_that_could_not_be_finished_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted between two stores: no half of it is left, under this name or another."""

    def interrupted(*_: Any) -> Authority:
        raise KeyboardInterrupt

    monkeypatch.setattr(Authority, "create", interrupted)

    with pytest.raises(KeyboardInterrupt):
        workflow_folder.create_folder(tmp_path / "w")
    assert names(tmp_path) == []


def test_other_peoples_files_are_left_alone(tmp_path: Path) -> None:
    """Neither among them nor over them."""

    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "notes.txt").write_text("mine")
    (tmp_path / "f").write_text("mine")

    for name in ("w", "f"):
        with pytest.raises(OutputInUse, match=name):
            workflow_folder.create_folder(tmp_path / name)
    assert names(tmp_path) == ["f", "w"]


@pytest.mark.parametrize("lost", NAMES)
def test_what_is_left_of_a_folder_is_evidence(tmp_path: Path, lost: str) -> None:
    """A store that is gone is not made anew beside the others."""

    workflow_folder.create_folder(tmp_path)
    (tmp_path / lost).unlink()

    with pytest.raises(BadStore, match="restore the others"):
        workflow_folder.create_folder(tmp_path)
    assert names(tmp_path) == [name for name in NAMES if name != lost]


def test_of_many_who_create_at_once_all_get_the_same_folder(tmp_path: Path) -> None:
    """Whoever is quicker; nobody fails, and nobody's spare is left."""

    context = multiprocessing.get_context("spawn")
    makers = [context.Process(target=workflow_folder.create_folder, args=(tmp_path / "w",)) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)

    assert [maker.exitcode for maker in makers] == [0] * 4
    assert (names(tmp_path), names(tmp_path / "w")) == (["w"], NAMES)


def test_the_lock_is_held_to_the_end_and_freed_by_an_error(tmp_path: Path) -> None:
    """A second driver gives up; after the first one's failure it may drive."""

    workflow_folder.create_folder(tmp_path)

    def fail_while_driving() -> None:
        with workflow_folder.locked(tmp_path):
            with pytest.raises(StoreLocked), workflow_folder.locked(tmp_path, timeout_s=0.01):
                pass
            raise ValueError("the driver failed")

    with pytest.raises(ValueError, match="the driver failed"):
        fail_while_driving()
    with workflow_folder.locked(tmp_path, timeout_s=0):
        pass


@pytest.mark.parametrize("timeout_s", [-1, float("nan"), float("inf"), 3601])
def test_no_lock_is_waited_for_without_end(tmp_path: Path, timeout_s: float) -> None:
    """A negative timeout would mean for ever."""

    workflow_folder.create_folder(tmp_path)

    with pytest.raises(BadOption), workflow_folder.locked(tmp_path, timeout_s):
        pass


def test_a_failure_without_the_effect_passes_the_other_calls_on(tmp_path: Path) -> None:
    """Out of order for submits only: what happened can still be read."""

    workflow_folder.create_folder(tmp_path)
    action = Action("charge", "order-42", 4000, "USD")
    with workflow_folder.opened(tmp_path) as session:
        provider = failing(session.parties.provider, "known")

        with pytest.raises(KnownFailure, match="charge of order-42 under order-42, epoch 3"):
            provider.submit("order-42", action, 3)
        assert provider.fence("order-42", 7) == 7
        assert provider.read("order-42").status == "absent"
        assert provider.postcondition(action).holds is False


def test_an_action_file_is_read_as_it_stands(tmp_path: Path) -> None:
    """Order and spelling do not matter; the action is the same."""

    path = tmp_path / "action.json"
    path.write_text('{ "currency": "USD",\n "amount_minor": 4000, "subject": "order-42", "kind": "charge" }')

    assert read_action(path) == Action("charge", "order-42", 4000, "USD")


def test_a_field_that_stands_twice_is_not_chosen_from(tmp_path: Path) -> None:
    """Python would take the last one, another reader the first."""

    path = tmp_path / "action.json"
    action = json.dumps({"kind": "charge", "subject": "order-42", "amount_minor": 1, "currency": "USD"})
    path.write_text(action.replace("{", '{"amount_minor": 4000, ', 1))

    with pytest.raises(BadAction, match="`amount_minor` stands twice"):
        read_action(path)
