"""Worlds: prepared whole or not at all, changed only by name, looked at without changing anything."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadStore, OutputInUse, ReadOnly, UnknownName
from labkit.harness import folders, snapshots, worlds
from labkit.harness.snapshots import table_names
from labkit.harness.worlds import LedgerSpec, StepSpec, WorldSpec, intervene, one_charge, prepare, snapshot
from labkit.stores import chain
from labkit.stores.sqlite import atomic
from labkit.values import Action, Approval, BudgetPolicy, Mandate

CHARGE = Action("charge", "order-1001", 4000, "USD", (("memo", "first"),))
NOTICE = Action("notice", "order-1001")
APPROVAL = Approval("approval-1", CHARGE.digest, "order-1001", 0, "ann", 1, expires_at_ms=60_000)
BOTH = WorldSpec(
    steps=(
        StepSpec(CHARGE, "order-1001:charge", state="NOT_ADMITTED", approval_id="approval-1"),
        StepSpec(NOTICE, "order-1001:notice", name="notice", ledger="messages", state=None, idempotent=False),
    ),
    ledgers=(
        LedgerSpec(mandates=(Mandate("order-1001", 4000, "USD"),), budget=BudgetPolicy(2, (("USD", 8000),))),
        LedgerSpec("messages", "messages.sqlite3", mandate_required=False),
    ),
    approvals=(APPROVAL,),
)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_prepared_world_holds_what_its_description_says(tmp_path: Path) -> None:
    """Every store of it, at time 0, with nothing done yet."""

    rows = snapshot(prepare(tmp_path / "world", BOTH))

    assert list(rows) == ["journal", "payments", "messages", "authority"]
    assert [
        (row["operation_id"], row["state"], row["approval_id"]) for row in rows["journal"]["operations"]
    ] == [("order-1001:charge", "NOT_ADMITTED", "approval-1")]
    assert [
        (rows[name]["policy"][0]["max_effects"], rows[name]["policy"][0]["mandate_required"])
        for name in ("payments", "messages")
    ] == [(2, 1), (None, 0)]
    assert [tuple(row.values())[1:] for row in rows["payments"]["mandates"]] == [
        ("order-1001", 4000, "USD", 0, None)
    ]
    assert [row["approval_id"] for row in rows["authority"]["approvals"]] == ["approval-1"]
    assert (
        len(rows["payments"]["effects"])
        + len(rows["messages"]["effects"])
        + len(rows["journal"]["checkpoints"])
        == 0
    )


def test_the_intents_are_what_should_happen_once(tmp_path: Path) -> None:
    """Two steps after one effect are one intent."""

    twice = replace(
        BOTH, steps=(*BOTH.steps, replace(BOTH.steps[0], operation_id="other", name="charge again"))
    )

    assert twice.intents == (("payments", "charge", "order-1001"), ("messages", "notice", "order-1001"))


def test_a_description_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """`world.json` is the spec."""

    folder = prepare(tmp_path / "world", BOTH)

    assert json.loads(json.dumps(BOTH.as_json)) == worlds.describe(folder)


USED: dict[str, Callable[[Path], object]] = {
    "a file in it": lambda path: (path.mkdir(), (path / "notes").write_text("mine")),
    "a folder in it": lambda path: (path / "mine").mkdir(parents=True),
    "a hidden file in it": lambda path: (path.mkdir(), (path / ".notes").write_text("mine")),
    "a file in its place": lambda path: path.write_text("mine"),
}


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_a_used_folder_is_refused_and_left_as_it_is(tmp_path: Path, use: Callable[[Path], object]) -> None:
    """Evidence is never written over."""

    use(tmp_path / "world")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(OutputInUse, match="world is not empty: choose a new folder"):
        prepare(tmp_path / "world", BOTH)
    assert before == sorted(tmp_path.rglob("*"))


def test_a_folder_below_a_file_cannot_be(tmp_path: Path) -> None:
    """One line, and the file stays."""

    (tmp_path / "file").write_text("mine")

    with pytest.raises(OutputInUse, match="lies below a file"):
        prepare(tmp_path / "file" / "world", BOTH)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_may_not_be_written_is_the_users_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2, with the folder named."""

    monkeypatch.setattr(
        Path, "mkdir", lambda *_args, **_kwargs: (_ for _ in ()).throw(PermissionError(13, "denied"))
    )

    with pytest.raises(ReadOnly, match="world is not yours to write: choose a folder you may write"):
        prepare(tmp_path / "world", BOTH)


def test_an_empty_folder_is_accepted(tmp_path: Path) -> None:
    """A demo's folder must be new or empty."""

    (tmp_path / "world").mkdir()

    assert (prepare(tmp_path / "world", BOTH) / "world.json").is_file()


NO_WORLDS = {
    "nothing": None,
    "no JSON": "{",
    "a list": "[]",
    "a text": '"world"',
    "another object": '{"steps": []}',
}


@pytest.mark.parametrize("text", NO_WORLDS.values(), ids=NO_WORLDS)
def test_a_folder_that_holds_no_world_is_named(tmp_path: Path, text: str | None) -> None:
    """Typed, whatever lies there; nothing is created."""

    if text is not None:
        (tmp_path / "world.json").write_text(text)
    before = contents(tmp_path)

    with pytest.raises(BadStore, match=r"world\.json (cannot be read|describes no world)") as raised:
        worlds.describe(tmp_path)
    assert ("name a folder that labkit made", before) == (raised.value.cure, contents(tmp_path))


def test_scratch_folders_are_new_and_private(tmp_path: Path) -> None:
    """On tmpfs where there is one; nobody else may look in."""

    made = [worlds.scratch_folder("lab-test-") for _ in range(2)]
    modes = [path.stat().st_mode & 0o777 for path in made]
    for path in made:
        path.rmdir()

    assert len(set(made)) == 2
    assert modes == [0o700, 0o700]
    assert not Path("/dev/shm").is_dir() or all(path.parent == Path("/dev/shm") for path in made)


# --- looking --------------------------------------------------------------------------------


def test_looking_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a byte of any store, not a file beside one, nothing left where it was copied to."""

    folder, elsewhere = prepare(tmp_path / "world", BOTH), tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.utime(elsewhere, (0, 0))
    monkeypatch.setattr(folders, "memory_folder", lambda: elsewhere)
    monkeypatch.setattr(snapshots, "_READ", {})  # what others have looked at before is not known
    before = contents(folder)
    assert snapshot(folder) == snapshot(folder)

    assert before == contents(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "world"]
    assert list(elsewhere.iterdir()) == []
    assert elsewhere.stat().st_mtime > 0  # there were copies


PAYS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from labkit.harness.world import World
from labkit.boundaries import Boundary
def reached(boundary):
    if boundary == Boundary.EFFECT_INSERTED:
        world.payments.ledger.db.execute("PRAGMA cache_size=1")
        world.payments.ledger.db.execute("UPDATE policy SET name = hex(zeroblob(300000))")  # spills: the journal is hot
        os.kill(os.getpid(), signal.SIGKILL)
world = World(Path(sys.argv[1]), "order-1001", reached=reached)
operation = world.operation()
world.payments.submit(operation.operation_id, operation.action)
"""


def test_a_snapshot_rolls_back_what_a_killed_writer_left(tmp_path: Path) -> None:
    """In its own copy: the hot journal stays beside the store, as evidence."""

    folder = prepare(tmp_path / "world", BOTH)
    clean = snapshot(folder)
    size = (folder / "ledger.sqlite3").stat().st_size
    done = subprocess.run([sys.executable, "-I", "-c", PAYS_AND_DIES, str(folder)], timeout=60, check=False)
    before = contents(folder)
    seen = snapshot(folder)

    assert done.returncode == -signal.SIGKILL
    assert len(before["ledger.sqlite3"]) > size  # the killed writer did write into the file
    assert clean == seen
    assert before == contents(folder)


def destroy(change: Callable[[Path], object]) -> Callable[[Path], object]:
    """A change of the journal's file."""
    return lambda folder: change(folder / "journal.sqlite3")


def drop_a_table(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("DROP TABLE checkpoints")
    db.close()


def scribble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)


DESTROYED = {
    "removed": (lambda path: path.unlink(), "journal.sqlite3 is missing"),
    "emptied": (lambda path: path.write_bytes(b""), "journal.sqlite3 is empty"),
    "overwritten": (lambda path: path.write_text("gone" * 2000), "journal.sqlite3 is damaged"),
    "another's": (lambda path: shutil.copy(path.with_name("ledger.sqlite3"), path), "journal.sqlite3 is not a journal store"),
    "a table dropped": (drop_a_table, "table checkpoints is missing"),
    "a page lost": (scribble, "journal.sqlite3 is damaged"),
}  # fmt: skip


def test_rows_that_were_read_before_are_those_that_stand_there_now(tmp_path: Path) -> None:
    """A store's rows are remembered by its bytes: one changed row shows, and nobody spoils another's copy."""
    one, other = prepare(tmp_path / "one", one_charge()), tmp_path / "other"
    shutil.copytree(one, other)
    first = snapshot(one)
    first["payments"]["mandates"].clear()
    first["journal"]["operations"][0]["state"] = "spoilt"
    assert snapshot(other) == snapshot(one)
    assert snapshot(other)["payments"]["mandates"]
    assert snapshot(other)["journal"]["operations"][0]["state"] == "EFFECT_PENDING"
    with atomic(sqlite3.connect(other / "journal.sqlite3", isolation_level=None)) as db:
        db.execute("UPDATE operations SET retries = retries + 1")
    assert snapshot(other)["journal"]["operations"][0]["retries"] == 1
    assert snapshot(one)["journal"]["operations"][0]["retries"] == 0


@pytest.mark.parametrize(("change", "says"), DESTROYED.values(), ids=DESTROYED)
def test_a_store_that_a_worker_destroyed_is_a_finding(
    tmp_path: Path, change: Callable[[Path], object], says: str
) -> None:
    """The other stores are read, and its own tables are empty with the reason beside them: rows to be judged by."""

    folder = prepare(tmp_path / "world", BOTH)
    change(folder / "journal.sqlite3")
    rows = snapshot(folder)
    found = [row["integrity_check"] for row in rows["journal"]["integrity"]]

    assert any(line.startswith(says) for line in found)
    assert str(tmp_path) not in str(found)
    assert set(table_names(worlds.SCHEMAS["journal"])) <= set(rows["journal"])
    assert [
        (row["integrity_check"], len(rows["payments"]["policy"])) for row in rows["payments"]["integrity"]
    ] == [("ok", 1)]


# --- what may happen in between -------------------------------------------------------------


def test_a_mandate_is_revoked_for_every_subject(tmp_path: Path) -> None:
    """At the time that is given, in every ledger that had granted one."""

    folder = prepare(tmp_path / "world", BOTH)
    intervene(folder, "revoke_mandate", 1500)
    rows = snapshot(folder)

    assert ([row["revoked_at_ms"] for row in rows["payments"]["mandates"]], rows["messages"]["mandates"]) == (
        [1500],
        [],
    )


def test_a_policy_is_tightened(tmp_path: Path) -> None:
    """The approver moves to a new version; approvals stay as rows."""

    folder = prepare(tmp_path / "world", BOTH)
    intervene(folder, "raise_policy_version", 1500)
    rows = snapshot(folder)["authority"]

    assert [(row["version"], row["at_ms"]) for row in rows["policy_versions"]] == [(1, 0), (2, 1500)]
    assert len(rows["approvals"]) == 1


def test_a_lost_journal_knows_only_the_intents_of_the_start(tmp_path: Path) -> None:
    """Progress, epochs and attempts are gone, the ledger is untouched, and what had no intent has none."""

    folder = prepare(tmp_path / "world", BOTH)
    start, ledger = snapshot(folder), (folder / "ledger.sqlite3").read_bytes()
    journal = worlds.Journal.open(folder / "journal.sqlite3")
    with atomic(journal.db):
        journal.claim("order-1001", 0, "worker", 1000)
        journal.checkpoint("order-1001:charge", None, 1000)
    journal.db.close()
    intervene(folder, "lose_journal", 1500)
    rows = snapshot(folder)["journal"]

    assert start["journal"]["operations"] == rows["operations"]
    assert [(row["version"], row["epoch"], rows["checkpoints"]) for row in rows["workflows"]] == [(0, 0, [])]
    assert (chain.first_break_of(rows), [event["at_ms"] for event in rows["events"]]) == (None, [1500, 1500])
    assert ledger == (folder / "ledger.sqlite3").read_bytes()


def test_a_world_without_an_approver_has_no_policy_to_tighten(tmp_path: Path) -> None:
    """Typed, and nothing is created."""

    folder = prepare(tmp_path / "world", one_charge())
    before = contents(folder)

    with pytest.raises(BadStore, match=r"authority\.sqlite3 is missing"):
        intervene(folder, "raise_policy_version", 1500)
    assert before == contents(folder)


def test_an_unknown_intervention_lists_the_known(tmp_path: Path) -> None:
    """The closed set, by name."""

    with pytest.raises(UnknownName) as raised:
        intervene(tmp_path, "revoke", 1500)
    assert f"choose one of {', '.join(worlds.INTERVENTIONS)}" == raised.value.cure


# --- what a worker sees ---------------------------------------------------------------------


def test_a_worker_finds_its_stores_by_what_the_world_says(tmp_path: Path) -> None:
    """Each provider under its name, its operation by step; run n is at n * 1000 ms."""

    from labkit.harness.world import World

    world = World(prepare(tmp_path / "world", BOTH), "order-1001", run_number=3)
    found: dict[str, Any] = {
        name: world.provider(name).read("any").source for name in ("payments", "messages")
    }
    operation = world.operation("charge")
    with pytest.raises(
        UnknownName, match="step notice of order-1001 has no recorded intent: record the intent first"
    ):
        world.operation("notice")
    with pytest.raises(
        UnknownName, match="provider bank is not in this world: choose one of payments, messages"
    ):
        world.provider("bank")

    assert found == {"payments": "payments", "messages": "messages"}
    assert (operation.operation_id, operation.action, world.now_ms) == ("order-1001:charge", CHARGE, 3000)
    assert world.payments is world.provider("payments")
    for db in (world.journal.db, world.payments.ledger.db, world.provider("messages").ledger.db):  # type: ignore[attr-defined]
        db.close()
