"""The registered interventions and the budget's failures come out as the contract says, from rows."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.actions import Action
from labkit.boundaries import Boundary
from labkit.errors import BadOption, HarnessError
from labkit.harness import allowance, registered, studies, trials
from labkit.harness.child import ChildSpec
from labkit.harness.packets import Packet, Record
from labkit.learning.judge import judge
from labkit.observations import ProcessRun
from labkit.protocol.budget import budget_snapshot
from labkit.providers.file import FileProvider
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Mandate

KILLED = -signal.SIGKILL

# id: (return codes, resumed result, (effects, checkpoints) at the interruption, final effects, verdict, task resolved)
CONTRACT: dict[str, tuple[Any, ...]] = {
    "control": ([0], None, (1, 1), 1, "exactly_one", True),
    "kill_before_effect": ([KILLED, 0], "committed", (0, 0), 1, "exactly_one", True),
    "kill_before_checkpoint": ([KILLED, 0], "already_committed", (1, 0), 1, "exactly_one", True),
    "kill_after_checkpoint": ([KILLED, 0], "already_committed", (1, 1), 1, "exactly_one", True),
    "mutant_new_key": ([KILLED, 0], "committed", (1, 0), 2, "duplicate", True),
    "revoke_before_effect": ([KILLED, 0], "mandate_revoked", (0, 0), 0, "refused", False),
    "revoke_after_effect": ([KILLED, 0], "already_committed", (1, 0), 1, "exactly_one", True),
}

# id: (remaining effects before, at the interruption, in the end; the ledger's answers; verdicts)
BUDGET: dict[str, tuple[Any, ...]] = {
    "kill_before_commit": ([1, 1, 0], ["committed"], ["exactly_one"]),
    "kill_after_commit": ([1, 0, 0], ["committed"], ["exactly_one"]),
    "replay": ([1, 0, 0], ["committed", "already_committed"], ["exactly_one"]),
    "compete_for_last_unit": ([1, None, 0], None, ["exactly_one", "refused"]),
    "revoke_after_commit": ([1, 0, 0], ["committed"], ["exactly_one"]),
}


@pytest.fixture(scope="module")
def packet() -> Packet:
    """One repetition of the seven."""
    return studies.run_study(studies.INTERVENTIONS, 1, judge)


@pytest.fixture(scope="module")
def budget() -> Packet:
    """One repetition of the budget's failures."""
    return studies.run_study(studies.BUDGET, 1, judge)


def trial(packet: Packet, case: str) -> Record:
    """The trial of one case."""
    return next(record for record in packet["trials"] if record["case"] == case)


def rows(record: Record, moment: str, store: str, table: str) -> list[dict[str, Any]]:
    """The rows of one table at one moment."""
    found: list[dict[str, Any]] = record[moment]["rows"][store][table]
    return found


@pytest.mark.parametrize("case", CONTRACT)
def test_each_intervention_comes_out_as_the_contract_says(packet: Packet, case: str) -> None:
    returncodes, result, interrupted, effects, verdict, resolved = CONTRACT[case]
    record = trial(packet, case)

    assert [run["returncode"] for run in record["runs"]] == returncodes
    assert record["resumed_result"] == result
    found = (
        len(rows(record, "interruption", "payments", "effects")),
        len(rows(record, "interruption", "journal", "checkpoints")),
    )
    assert found == interrupted
    assert len(rows(record, "final", "payments", "effects")) == effects
    assert [given["name"] for given in record["verdicts"]] == [verdict]
    assert record["contract"]["task_resolved"] is resolved
    assert record["contract"]["passed"] is True


def test_the_seven_stand_in_the_order_of_the_contract(packet: Packet) -> None:
    assert [record["case"] for record in packet["trials"]] == list(CONTRACT)
    assert packet["totals"] == {
        "trials": 7,
        "passed": 7,
        "failed": 0,
        "final_effects": {case: [row[3]] for case, row in CONTRACT.items()},
    }


def test_the_mutant_is_caught_from_rows_though_it_exits_0(packet: Packet) -> None:
    record = trial(packet, "mutant_new_key")

    assert record["runs"][1]["returncode"] == 0
    assert len(rows(record, "final", "journal", "checkpoints")) == 1  # its journal looks complete
    keys = [row["operation_id"] for row in rows(record, "final", "payments", "effects")]
    assert len(set(keys)) == 2
    assert record["contract"]["safe"] is False
    assert "caught as duplicate" in record["contract"]["because"][0]


def test_a_refusal_is_safe_and_resolves_nothing_and_both_are_said(packet: Packet) -> None:
    record = trial(packet, "revoke_before_effect")

    assert (record["contract"]["safe"], record["contract"]["task_resolved"]) == (True, False)
    assert rows(record, "final", "payments", "effects") == []
    assert rows(record, "final", "journal", "checkpoints") == []


def test_every_worker_is_a_process_of_its_own_in_stores_of_its_own(packet: Packet) -> None:
    pids = [run["pid"] for record in packet["trials"] for run in record["runs"]]

    assert len(set(pids)) == len(pids)
    for record in packet["trials"]:
        first = [row for row in rows(record, "final", "payments", "effects") if row["effect_id"] == 1]
        assert len(first) == record["contract"]["final_effects"] or record["case"] == "mutant_new_key"


@pytest.mark.parametrize("case", BUDGET)
def test_each_failure_does_to_the_allowance_what_the_contract_says(budget: Packet, case: str) -> None:
    remaining, answers, verdicts = BUDGET[case]
    record = trial(budget, case)

    assert record["contract"]["remaining_effects"] == remaining
    assert record["contract"]["remaining_usd_minor"] == [left and left * 4000 for left in remaining]
    assert len(rows(record, "final", "payments", "effects")) == 1
    if answers is not None:
        assert [row["status"] for row in rows(record, "final", "payments", "invocations")] == answers
    assert sorted(given["name"] for given in record["verdicts"]) == verdicts
    assert record["contract"]["passed"] is True


def test_of_two_competitors_one_is_paid_and_one_is_refused_whoever_it_is(budget: Packet) -> None:
    record = trial(budget, "compete_for_last_unit")

    answers = sorted(row["status"] for row in rows(record, "final", "payments", "invocations"))
    assert answers == ["budget_action_limit", "committed"]
    assert [run["returncode"] for run in record["runs"]] == [0, 0]  # exit codes say nothing here
    paid = rows(record, "final", "payments", "effects")[0]["subject"]
    states = {row["workflow_id"]: row["state"] for row in rows(record, "final", "journal", "operations")}
    assert states.pop(paid) == "EFFECT_COMMITTED"
    assert list(states.values()) == ["ABANDONED"]


def test_a_kill_between_insert_and_commit_leaves_no_trace(budget: Packet) -> None:
    record = trial(budget, "kill_before_commit")

    assert record["boundary"] == Boundary.EFFECT_INSERTED
    assert record["interruption"]["rows"]["payments"] == record["before"]["rows"]["payments"]


def test_the_allowance_of_rows_is_the_allowance_of_the_live_ledger(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.sqlite3", budget=allowance.LAST_UNIT)
    with atomic(ledger.db):
        ledger.grant_mandate(Mandate("order-1", 4000, "USD"), 0)

    def of_rows() -> dict[str, list[dict[str, Any]]]:
        names = ("effects", "policy", "currency_caps")
        return {name: [dict(row) for row in ledger.db.execute(f"SELECT * FROM {name}")] for name in names}

    before = allowance.allowance({"payments": of_rows()})
    assert before == budget_snapshot(ledger)
    FileProvider(ledger, 1000).submit("order-1:charge", Action("charge", "order-1", 4000, "USD"))
    after = allowance.allowance({"payments": of_rows()})
    assert after == budget_snapshot(ledger)
    assert (before.remaining_effects, after.remaining_effects) == (1, 0)
    ledger.db.close()


class NoLauncher:
    """Fails the test if anything is started."""

    def start(self, spec: ChildSpec) -> Any:
        """Nothing may be."""
        raise AssertionError(spec)


@pytest.mark.parametrize("repetitions", [0, -1, 21])
def test_repetitions_outside_1_to_20_are_refused_before_anything_runs(repetitions: int) -> None:
    with pytest.raises(BadOption, match="from 1 to 20"):
        studies.run_study(studies.INTERVENTIONS, repetitions, judge, launcher=NoLauncher())


@pytest.mark.parametrize("study", studies.STUDIES.values(), ids=studies.STUDIES)
def test_a_machine_that_fails_is_no_score(study: studies.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """No packet says that the worker fell short when it was the disk."""
    said = "StoreUnwritable: ledger.sqlite3 could not be written (disk full): free disk space\n"

    def run_once(_launcher: Any, _spec: ChildSpec, role: str, *_deadline_s: float) -> ProcessRun:
        return ProcessRun(role, "", 1, 3, None, None, "", said, 1.0)  # what a labkit child ends like

    monkeypatch.setattr(trials, "run_once", run_once)

    with pytest.raises(HarnessError, match="disk full") as raised:
        studies.run_case(study, next(iter(study.cases)), judge)

    assert raised.value.exit_code == 3


def only(case: Any) -> studies.Study:
    """A study of one case."""
    return replace(studies.INTERVENTIONS, cases={case.id: case})


def test_repetitions_are_told_and_counted() -> None:
    seen: list[str] = []

    packet = studies.run_study(only(registered.INTERVENTIONS[0]), 2, judge, seen.append)

    assert seen == ["control", "control"]
    assert [record["repetition"] for record in packet["trials"]] == [1, 2]
    assert packet["totals"]["final_effects"] == {"control": [1, 1]}


def test_a_wrong_worker_in_a_row_of_the_reference_falls_short() -> None:
    """The contract can fail: this one expects one payment of the mutant."""
    case = replace(studies.INTERVENTIONS.cases["kill_before_checkpoint"], resumed_by=registered.MUTANT)

    packet = studies.run_study(only(case), 1, judge)

    assert packet["totals"]["failed"] == 1
    because = packet["trials"][0]["contract"]["because"]
    assert "final_effects: expected 1, found 2" in because
    assert "verdicts: expected ['exactly_one'], found ['duplicate']" in because


def test_a_worker_that_never_reaches_its_boundary_is_no_pass() -> None:
    case = replace(
        studies.INTERVENTIONS.cases["kill_before_checkpoint"],
        crash=registered.killed_at(Boundary.ACKNOWLEDGED),  # the reference worker announces no such place
    )

    record = studies.run_study(only(case), 1, judge)["trials"][0]

    assert record["outcome"] == "not_killed"
    assert record["verdicts"] == []
    assert record["contract"]["passed"] is False
    assert record["contract"]["safe"] is False


def test_trial_folders_are_removed_also_when_a_trial_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []

    def scratch_folder(prefix: str) -> Path:
        folders.append(tmp_path / f"{prefix}{len(folders)}")
        folders[-1].mkdir()
        return folders[-1]

    monkeypatch.setattr(studies, "scratch_folder", scratch_folder)

    studies.run_case(studies.INTERVENTIONS, "control", judge)
    with pytest.raises(AssertionError):
        studies.run_case(studies.INTERVENTIONS, "control", judge, NoLauncher())

    assert len(folders) == 2
    assert list(tmp_path.iterdir()) == []
