"""k11: history, then authority.  The facts of its runs, and its exercise at every crash point."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from labkit.grading.stage import Stage
from labkit.learning import katas
from labkit.learning.check import contract_of
from labkit.observations import Observation, Snapshot, Sweep
from labkit.ui import author

ROOT = Path(__file__).parents[2]
KATA = katas.load(ROOT / "katas" / "k11_revoked")
MUTANTS = {mutant.stem: mutant for mutant in KATA.mutants}
BOTH = ("exactly_one", "exactly_one")

Swept = Callable[..., Sweep]


def answers_of(rows: Snapshot) -> list[str]:
    """What the ledger said to each request, in order."""
    return [row["status"] for row in rows["payments"]["invocations"]]


def commits_of(sweep: Sweep) -> list[int]:
    """The numbers of the first run's COMMITs: payment 1001, payment 1002, checkpoint 1001, checkpoint 1002."""
    return [point.number for point in sweep.points if point.label.split()[1] == "COMMIT"]


def verdicts(sweep: Sweep) -> list[tuple[str, ...]]:
    """What each crash point ends in: for order-1001, whose mandate goes, and for order-1002."""
    return [result.names for result in sweep.results]


def by_place(sweep: Sweep, *columns: dict[tuple[int, int], str]) -> list[tuple[str, ...]]:
    """The verdicts that are due: for each order {(after COMMIT i, up to COMMIT j): verdict}, else exactly_one."""
    ends = [0, *commits_of(sweep), len(sweep.points)]
    due = []
    for point in sweep.points:
        places = [
            next(
                (name for (after, upto), name in column.items() if ends[after] < point.number <= ends[upto]),
                "",
            )
            for column in columns
        ]
        due.append(tuple(place or "exactly_one" for place in places))
    return due


# --- the runs of the lesson -----------------------------------------------------------------


def test_the_facts_come_out_of_the_runs(stage: Stage, runs: dict[str, Observation]) -> None:
    """Before: no payment, refused, no checkpoint.  After: one payment, reported.  Old key, new order: conflict."""

    assert {name: seen.value for name, seen in stage.observed(runs).items()} == {
        "payments_revoked_before": 0,
        "checkpoints_revoked_before": 0,
        "payments_revoked_after": 1,
        "checkpoints_revoked_after": 1,
        "answer_to_changed_order": "key_conflict",
    }
    assert [(kept.run, kept.verdict, kept.passed) for kept in contract_of(stage.contract, runs)] == [
        ("uninterrupted", "exactly_one", True),
        ("revoked_before", "refused", True),
        ("revoked_after", "exactly_one", True),
        ("changed_order", "exactly_one", True),
    ]


def test_the_mandate_is_revoked_after_the_first_process_and_before_the_second(
    runs: dict[str, Observation],
) -> None:
    for name in ("revoked_before", "revoked_after", "changed_order"):
        killed = runs[name]
        assert [run.returncode for run in killed.runs] == [-9, 0]
        assert killed.interruption is not None
        [at_the_kill] = killed.interruption["payments"]["mandates"]
        [in_the_end] = killed.final["payments"]["mandates"]
        assert (at_the_kill["revoked_at_ms"], in_the_end["revoked_at_ms"]) == (None, 1500)


def test_a_refusal_is_recorded_with_its_reason(runs: dict[str, Observation]) -> None:
    """As a move of the operation, and not as a checkpoint."""

    final = runs["revoked_before"].final

    assert answers_of(final) == ["mandate_revoked"]
    assert [row["state"] for row in final["journal"]["operations"]] == ["NEEDS_REAUTHORISATION"]
    moved = json.loads(final["journal"]["events"][-1]["body"])
    assert moved["evidence"] == {"refused": "mandate_revoked"}


def test_a_payment_is_reported_from_a_reading_without_another_request(runs: dict[str, Observation]) -> None:
    killed = runs["revoked_after"]

    assert answers_of(killed.final) == ["committed"]
    assert killed.interruption is not None
    assert killed.final["payments"]["effects"] == killed.interruption["payments"]["effects"]
    assert killed.runs[-1].result == "already_committed"


def test_the_exact_order_gets_its_old_receipt_also_without_a_mandate(runs: dict[str, Observation]) -> None:
    """One cent more and the other currency conflict; neither touches the original."""

    killed = runs["changed_order"]

    assert answers_of(killed.final) == ["committed", "key_conflict", "key_conflict", "already_committed"]
    digests = [row["action_digest"] for row in killed.final["payments"]["invocations"]]
    assert len(set(digests)) == 3
    assert digests[0] == digests[3]
    assert killed.interruption is not None
    assert killed.final["payments"]["effects"] == killed.interruption["payments"]["effects"]


# --- the exercise, at every crash point -----------------------------------------------------


def test_all_four_cases_occur_and_the_solution_passes(swept: Swept, answers: dict[str, Path]) -> None:
    """Paid or not, permitted or not: only what is neither paid nor permitted ends as refused."""

    sweep = swept(answers["solution"])

    assert sweep.passed, sweep.problems
    assert sweep.control.names == BOTH
    assert verdicts(sweep) == by_place(sweep, {(0, 1): "refused"}, {})
    assert len(commits_of(sweep)) == 4


def test_the_starter_fails(swept: Swept, answers: dict[str, Path]) -> None:
    """It writes nothing, so that whatever was not noted before the crash is never noted."""

    sweep = swept(answers["starter"])

    assert not sweep.passed
    assert ("stuck", "stuck") in verdicts(sweep)


# --- the wrong answers ----------------------------------------------------------------------


def test_each_mutant_names_the_verdict_that_catches_it() -> None:
    assert {name: author.caught_by(mutant) for name, mutant in MUTANTS.items()} == {
        "authority_first": "orphan_effect",
        "history_never": "duplicate",
        "notes_a_refusal_as_done": "phantom_progress",
    }


def test_authority_first_reports_a_payment_as_refused(swept: Swept) -> None:
    """From the payment's commit to its checkpoint's, for the order whose mandate goes, and nowhere else."""

    sweep = swept(MUTANTS["authority_first"])

    assert sweep.control.names == BOTH
    assert verdicts(sweep) == by_place(sweep, {(0, 1): "refused", (1, 3): "orphan_effect"}, {})


def test_history_never_pays_again_where_that_is_still_permitted(swept: Swept) -> None:
    """The order whose mandate stands is paid twice; the other one is refused although it was paid."""

    sweep = swept(MUTANTS["history_never"])

    assert sweep.control.names == BOTH
    assert verdicts(sweep) == by_place(
        sweep, {(0, 1): "refused", (1, 3): "orphan_effect"}, {(2, 4): "duplicate"}
    )


def test_a_refusal_noted_as_done_is_progress_without_an_effect(swept: Swept) -> None:
    sweep = swept(MUTANTS["notes_a_refusal_as_done"])

    assert sweep.control.names == BOTH
    assert verdicts(sweep) == by_place(sweep, {(0, 1): "phantom_progress"}, {})


def test_an_answer_that_forgets_the_refusal_leaves_the_order_open(
    swept: Swept, answers: dict[str, Path], tmp_path: Path
) -> None:
    text = answers["solution"].read_text(encoding="utf-8")
    refusal = "world.journal.refuse(operation.operation_id, answer.status, world.now_ms)"
    assert text.count(refusal) == 1
    (tmp_path / "answer.py").write_text(text.replace(refusal, "pass"), encoding="utf-8")

    sweep = swept(tmp_path / "answer.py")

    assert verdicts(sweep) == by_place(sweep, {(0, 1): "stuck"}, {})
