"""The checkup: what it says of this machine, and which damage it finds in which store."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.boundaries import Boundary
from labkit.errors import UnknownName
from labkit.harness import checkup, checkup_stores
from labkit.harness.checkup import Finding
from labkit.harness.demo import JOURNAL, LEDGER, run_demo
from labkit.harness.registered import INTERVENTIONS
from labkit.harness.trials import Crash, run_trial
from labkit.learning.judge import judge

# --- the machine ----------------------------------------------------------------------------


def test_this_machine_is_fit_and_every_finding_is_said_once() -> None:
    findings = checkup.machine()

    names = [finding.what for finding in findings]
    assert names == ["python", "sqlite", "journal mode", "bubblewrap", "chromium", "tmpfs", "pidfd"]
    assert [finding for finding in findings if finding.status == "fault"] == []


@pytest.mark.parametrize(
    ("version", "mode"),
    [((3, 40, 1), "delete"), ((3, 51, 2), "delete"), ((3, 44, 6), "wal"), ((3, 51, 3), "wal")],
)
def test_the_journal_mode_is_told_with_its_reason(version: tuple[int, int, int], mode: str) -> None:
    finding = checkup.journal_mode(version)

    assert finding.status == "ok"
    assert finding.found.startswith(mode)
    assert ("can lose pages" in finding.found) == (mode == "delete")


def test_an_old_python_or_sqlite_is_a_fault_with_its_cure() -> None:
    assert checkup.python((3, 10, 9)) == Finding("python", "fault", "CPython 3.10.9: use 3.11 or newer", 1)
    assert checkup.engine((3, 36, 0)).exit_code == 1
    assert "3.37.0" in checkup.engine((3, 36, 0)).found


def test_what_only_some_commands_need_is_absent_and_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)

    assert [(f.status, f.exit_code) for f in (checkup.bubblewrap(), checkup.chromium())] == [
        ("absent", 0),
        ("absent", 0),
    ]


def test_tmpfs_is_read_from_the_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "fast"
    place.mkdir()
    mounts = tmp_path / "mounts"
    mounts.write_text(f"proc /proc proc rw 0 0\ntmpfs {place} tmpfs rw 0 0\n", encoding="utf-8")

    def scratch_folder(prefix: str) -> Path:
        (place / prefix).mkdir()
        return place / prefix

    monkeypatch.setattr(checkup, "scratch_folder", scratch_folder)

    assert checkup.tmpfs(mounts).status == "ok"
    assert checkup.tmpfs(tmp_path / "none").status == "absent"
    assert list(place.iterdir()) == []


# --- the stores -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo that was run once."""
    folder = tmp_path_factory.mktemp("checkup") / "demo"
    run_demo(folder, judge)
    return folder


@pytest.fixture
def folder(demo_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage; there is no world.json in it."""
    copy = tmp_path / "copy"
    shutil.copytree(demo_folder, copy)
    (copy / "world.json").unlink()
    return copy


def found_in(folder: Path) -> dict[str, list[Finding]]:
    """Every store's findings."""
    return {path.name: checkup_stores.examine(path) for path in checkup_stores.stores_in(folder)}


def test_whole_stores_are_told_with_owner_version_and_rows(folder: Path) -> None:
    found = found_in(folder)

    assert set(found) == {"authority.sqlite3", JOURNAL, LEDGER}
    assert found[LEDGER][0].status == "ok"
    assert found[LEDGER][0].found.startswith("ledger, schema version 1; 2 effects")
    assert "2 workflows" in found[JOURNAL][0].found


def change(path: Path, *statements: str) -> None:
    """Damage a store behind labkit's back, append-only triggers and all."""
    db = sqlite3.connect(path)
    triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for (name,) in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


DAMAGE: dict[str, tuple[str, str, str]] = {
    "an event edited": (
        JOURNAL,
        "UPDATE events SET at_ms = at_ms + 1 WHERE sequence = 5",
        "the event chain breaks at event 5",
    ),
    "an event removed": (
        JOURNAL,
        "DELETE FROM events WHERE sequence = 7",
        "the event chain breaks at event 7",
    ),
    "the tail lost": (
        JOURNAL,
        "DELETE FROM events WHERE sequence > 20",
        "the event chain breaks at event 21",
    ),
    "an action edited": (
        JOURNAL,
        "UPDATE operations SET action = replace(action, '4000', '4001') WHERE workflow_id = 'order-2001'",
        "the action of order-2001:charge does not fit its digest",
    ),
    "a recovery receipt edited": (
        JOURNAL,
        "UPDATE recovery_receipts SET receipt = replace(receipt, 'complete', 'abandon') WHERE recovery_id = 1",
        "recovery receipt 1 does not fit its digest",
    ),
    "an effect edited": (
        LEDGER,
        "UPDATE effects SET amount_minor = 1 WHERE effect_id = 2",
        "the receipt of effect 2 does not fit its digest",
    ),
    "an effect removed": (
        LEDGER,
        "DELETE FROM effects WHERE effect_id = 1",
        "operation order-2001:charge is known, and its effect 1 is gone",
    ),
    "the policy lost": (LEDGER, "DELETE FROM policy", "0 policy rows, not 1"),
}


@pytest.mark.parametrize(("name", "statement", "fault"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_in_the_content_is_found(folder: Path, name: str, statement: str, fault: str) -> None:
    change(folder / name, statement)

    found = found_in(folder)

    assert Finding(name, "fault", fault, 1) in found.pop(name)
    assert {finding.status for findings in found.values() for finding in findings} == {"ok"}


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4096])


def scribbled(path: Path) -> None:
    path.write_text("these are my notes, and not a database at all\n" * 10, encoding="utf-8")


def of_another_program(path: Path) -> None:
    path.unlink()
    change(path, "CREATE TABLE recipes (name TEXT)")


def of_the_future(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[60:64] = struct.pack(">I", 99)
    path.write_bytes(data)


UNREADABLE = {
    emptied: "is empty",
    truncated: "keep it as evidence and restore a copy",
    scribbled: "is not a SQLite database",
    of_another_program: "of another program",
    of_the_future: "schema version 99, newer than 1",
}


@pytest.mark.parametrize(("ruin", "why"), UNREADABLE.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_what_cannot_be_opened_is_named_with_a_cure(
    folder: Path, ruin: Callable[[Path], None], why: str
) -> None:
    ruin(folder / LEDGER)
    before = (folder / LEDGER).read_bytes()

    [finding] = found_in(folder)[LEDGER]

    assert (finding.status, finding.exit_code) == ("fault", 2)
    assert str(folder / LEDGER) in finding.found
    assert why in finding.found
    assert (folder / LEDGER).read_bytes() == before


def test_looking_changes_nothing_not_even_a_hot_journal(tmp_path: Path) -> None:
    """A writer that was killed inside its transaction leaves one, and it is evidence too."""
    folder = tmp_path / "world"
    crash = Crash(Boundary.EFFECT_INSERTED, resumes=0)
    run_trial(INTERVENTIONS[0].scenario, crash, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert any(name.endswith(("-journal", "-wal")) for name in before)

    found = found_in(folder)

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert {finding.status for findings in found.values() for finding in findings} == {"ok"}
    assert "effects" not in found["ledger.sqlite3"][0].found


@pytest.mark.parametrize(("writes", "status"), [(1, "ok"), (99, "fault")])
def test_a_store_that_is_written_to_meanwhile_is_copied_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, writes: int, status: str
) -> None:
    """A copy that is half of yesterday and half of today would look damaged."""
    copyfile = shutil.copyfile
    written: list[int] = []

    def copy_and_write(source: Path, target: Path) -> None:
        copyfile(source, target)
        if len(written) < writes:
            written.append(1)
            change(folder / LEDGER, "UPDATE mandates SET granted_at_ms = 1")
            os.utime(folder / LEDGER, ns=(len(written), len(written)))  # file times are coarse: make it tick

    monkeypatch.setattr(shutil, "copyfile", copy_and_write)

    [finding] = checkup_stores.examine(folder / LEDGER)

    assert finding.status == status
    assert finding.exit_code == (0 if status == "ok" else 3)


def test_a_read_only_store_can_be_looked_at(folder: Path) -> None:
    (folder / LEDGER).chmod(0o400)

    assert found_in(folder)[LEDGER][0].status == "ok"


def test_a_store_by_content_is_found_whatever_its_name(folder: Path) -> None:
    (folder / LEDGER).rename(folder / "evidence.bin")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")

    assert [path.name for path in checkup_stores.stores_in(folder)] == [
        "authority.sqlite3",
        "evidence.bin",
        JOURNAL,
    ]


def test_a_folder_without_stores_or_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="holds no store"):
        checkup_stores.stores_in(tmp_path)
    with pytest.raises(UnknownName, match="is not a folder"):
        checkup_stores.stores_in(tmp_path / "none")
