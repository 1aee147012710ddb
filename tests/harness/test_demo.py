"""The demo: one crash with a key is harmless, the same crash without one cannot be decided."""

from __future__ import annotations

import copy
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from labkit.canonical import digest
from labkit.errors import OutputInUse
from labkit.harness import checkup_stores, demo
from labkit.learning.judge import judge
from labkit.stores import chain


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo that was run once; tests only look."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    demo.run_demo(folder, judge)
    return folder


@pytest.fixture
def receipt(folder: Path) -> dict[str, Any]:
    """What the demo says of itself."""
    found: dict[str, Any] = json.loads((folder / "receipt.json").read_text(encoding="utf-8"))
    return found


def ask(path: Path, sql: str) -> list[Any]:
    """Rows straight from a file, with nothing of labkit in between."""
    db = sqlite3.connect(path)
    found = db.execute(sql).fetchall()
    db.close()
    return found


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file in a folder."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def test_the_evidence_lies_in_the_folder(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}

    assert {"receipt.json", "timeline.txt", demo.JOURNAL, demo.LEDGER} <= names


def test_two_children_left_by_86_after_the_commit(receipt: dict[str, Any]) -> None:
    for flow in receipt["workflows"].values():
        assert flow["child"]["exit_code"] == 86
        assert flow["child"]["boundary"] == "effect.committed"
    pids = [run["pid"] for flow in receipt["workflows"].values() for run in (flow["child"], *flow["resumes"])]
    assert len(set(pids)) == len(pids) == 7


def test_the_ledgers_file_has_two_effects_one_each(folder: Path, receipt: dict[str, Any]) -> None:
    found = ask(folder / demo.LEDGER, "SELECT subject, operation_id FROM effects ORDER BY effect_id")

    assert found == [("order-2001", "order-2001:charge"), ("order-2002", None)]
    assert receipt["total_effects"] == 2
    assert (receipt["safe_replays"], receipt["ambiguous_calls"]) == (1, 1)


def test_every_replay_gets_the_original_receipt(folder: Path, receipt: dict[str, Any]) -> None:
    flow = receipt["workflows"]["idempotent"]
    [(original,)] = ask(
        folder / demo.LEDGER, "SELECT receipt_digest FROM effects WHERE operation_id IS NOT NULL"
    )

    assert flow["replayed"] is True
    assert len(flow["resumes"]) == 1 + 3
    for resume in flow["resumes"]:
        assert resume["exit_code"] == 0
        assert resume["answer"] == {
            "state": "OUTCOME_VERIFIED",
            "replayed": True,
            "receipt_digest": original,
        }
    answers = ask(
        folder / demo.LEDGER, "SELECT status FROM invocations WHERE operation_id = 'order-2001:charge'"
    )
    assert answers == [("committed",)] + [("already_committed",)] * 4
    assert (flow["effects"], flow["verdict"]["name"]) == (1, "exactly_one")


def test_without_a_key_recovery_says_that_it_does_not_know(folder: Path, receipt: dict[str, Any]) -> None:
    flow = receipt["workflows"]["non_idempotent"]
    state = ask(folder / demo.JOURNAL, "SELECT state FROM operations WHERE workflow_id = 'order-2002'")

    assert state == [("UNKNOWN_OUTCOME",)]
    assert flow["state"] == "UNKNOWN_OUTCOME"
    assert flow["replayed"] is None
    assert "reconcile" in flow["next"]
    assert (flow["effects"], flow["verdict"]["name"]) == (1, "honest_unknown")
    called = ask(folder / demo.LEDGER, "SELECT count(*) FROM invocations WHERE subject = 'order-2002'")
    assert called == [(1,)]  # the call without a key was never repeated


def test_the_recovery_receipts_name_what_stays_open(folder: Path) -> None:
    found = [
        chain.json_of(row[0])
        for row in ask(folder / demo.JOURNAL, "SELECT receipt FROM recovery_receipts ORDER BY recovery_id")
    ]

    assert [receipt["decision"] for receipt in found] == ["complete"] * 4 + ["reconcile"]
    assert found[-1]["remaining_uncertainty"]
    assert all(receipt["remaining_uncertainty"] is None for receipt in found[:-1])


def test_the_timeline_shows_where_each_process_left(folder: Path) -> None:
    lines = (folder / "timeline.txt").read_text(encoding="utf-8").splitlines()

    assert lines.count("run 1   process exit 86 at effect.committed") == 2
    crash = lines.index("run 1   process exit 86 at effect.committed")
    assert lines[crash - 1] == "run 1   ledger  committed (order-2001:charge)"
    assert "run 2   ledger  already_committed (order-2001:charge)" in lines
    assert any("EFFECT_PENDING -> UNKNOWN_OUTCOME" in line for line in lines)


def test_a_checkup_of_the_folder_finds_no_fault(folder: Path) -> None:
    stores = checkup_stores.stores_in(folder)

    assert {path.name for path in stores} >= {demo.JOURNAL, demo.LEDGER}
    findings = [finding for path in stores for finding in checkup_stores.examine(path)]
    assert {finding.status for finding in findings} == {"ok"}


def test_the_folder_is_never_written_over(folder: Path) -> None:
    before = digests(folder)

    with pytest.raises(OutputInUse):
        demo.run_demo(folder, judge)

    assert digests(folder) == before


@pytest.mark.parametrize("name", ["receipt.json", "notes.txt", ".hidden"])
def test_a_folder_that_holds_anything_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")

    with pytest.raises(OutputInUse):
        demo.run_demo(tmp_path, judge)

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")

    with pytest.raises(OutputInUse):
        demo.run_demo(tmp_path / "out", judge)

    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_two_demos_have_the_same_rows_and_the_same_timeline(
    folder: Path, receipt: dict[str, Any], tmp_path: Path
) -> None:
    """An empty folder is as good as a new one, and nothing in the rows depends on chance or the clock."""
    again = demo.run_demo(tmp_path, judge)

    assert again["snapshot_sha256"] == receipt["snapshot_sha256"]
    assert (tmp_path / "timeline.txt").read_bytes() == (folder / "timeline.txt").read_bytes()


def second_effect(flows: dict[str, Any]) -> None:
    flows["idempotent"]["effects"] = 2


def other_receipt(flows: dict[str, Any]) -> None:
    flows["idempotent"]["replayed_receipt_digests"] = [digest("another")]


def resume_failed(flows: dict[str, Any]) -> None:
    flows["idempotent"]["resumes"][1].update(exit_code=1, complaint="StaleClaim: moved")


def unknown_released(flows: dict[str, Any]) -> None:
    flows["non_idempotent"]["state"] = "ADMITTED"


def child_survived(flows: dict[str, Any]) -> None:
    flows["non_idempotent"]["child"]["exit_code"] = 0


@pytest.mark.parametrize(
    ("spoil", "because"),
    [
        (second_effect, "idempotent: effects is 2, not 1"),
        (other_receipt, "idempotent: a replay did not get the original receipt"),
        (resume_failed, "idempotent: a resume left by exit 1: StaleClaim: moved"),
        (unknown_released, "non_idempotent: state is 'ADMITTED', not 'UNKNOWN_OUTCOME'"),
        (child_survived, "non_idempotent: exit_code is 0, not 86"),
    ],
)
def test_a_demo_that_came_out_otherwise_says_where(receipt: dict[str, Any], spoil: Any, because: str) -> None:
    flows = copy.deepcopy(receipt["workflows"])
    assert demo.shortfalls(flows) == []

    spoil(flows)

    assert demo.shortfalls(flows) == [because]
