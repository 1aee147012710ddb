"""k14: an allowance from committed rows.  The facts of its runs, and its exercise at every crash point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from labkit.grading.stage import Stage
from labkit.harness.allowance import allowance
from labkit.learning import katas
from labkit.learning.check import contract_of
from labkit.observations import Observation, Snapshot, Sweep
from labkit.ui import author

ROOT = Path(__file__).parents[2]
KATA = katas.load(ROOT / "katas" / "k14_the_allowance")
MUTANTS = {mutant.stem: mutant for mutant in KATA.mutants}
FIRST_PAID, SECOND_PAID = ("exactly_one", "refused"), ("refused", "exactly_one")
OVER = ("over_budget", "over_budget")

Swept = Callable[..., Sweep]


def answers_of(rows: Snapshot) -> list[str]:
    """What the ledger said to each request, in order."""
    return [row["status"] for row in rows["payments"]["invocations"]]


def left(rows: Snapshot | None) -> tuple[int | None, int]:
    """What the allowance still permits: payments, and USD in minor units."""
    assert rows is not None
    found = allowance(rows)
    return found.remaining_effects, found.remaining_minor["USD"]


def payment_commit(sweep: Sweep) -> int:
    """The number of the first run's first COMMIT, the ledger's."""
    return next(point.number for point in sweep.points if point.label.split()[1] == "COMMIT")


def points_of(sweep: Sweep, names: tuple[str, ...]) -> list[int]:
    """The crash points that end in these verdicts, order-1001's and order-1002's."""
    return [result.schedule[0].number for result in sweep.results if result.names == names]


def numbers(first: int, last: int) -> list[int]:
    """All numbers from the first to the last."""
    return list(range(first, last + 1))


# --- the runs of the lesson -----------------------------------------------------------------


def test_the_facts_come_out_of_the_runs(stage: Stage, runs: dict[str, Observation]) -> None:
    assert {name: seen.value for name, seen in stage.observed(runs).items()} == {
        "left_after_death_before_commit": 1,
        "left_after_death_after_commit": 0,
        "payments_after_lost_journal": 1,
        "answer_to_new_key": "budget_action_limit",
    }
    assert {(kept.verdict, kept.passed) for kept in contract_of(stage.contract, runs)} == {
        ("exactly_one", True)
    }


def test_three_requests_commit_replay_and_are_refused(runs: dict[str, Observation]) -> None:
    """The second consumes nothing, the third finds nothing left; its customer's mandate stands."""

    final = runs["three_requests"].final

    assert answers_of(final) == ["committed", "already_committed", "budget_action_limit"]
    assert left(final) == (0, 0)
    assert [(row["subject"], row["revoked_at_ms"]) for row in final["payments"]["mandates"]] == [
        ("order-1001", None),
        ("order-1002", None),
    ]


def test_killed_between_insert_and_commit_nothing_is_consumed(runs: dict[str, Observation]) -> None:
    killed = runs["before_commit"]

    assert (killed.runs[0].returncode, killed.runs[0].boundary) == (-9, "effect.inserted")
    assert left(killed.interruption) == (1, 4000)
    assert answers_of(killed.final) == ["committed", "budget_action_limit"]
    assert left(killed.final) == (0, 0)


def test_killed_after_the_commit_it_stays_consumed(runs: dict[str, Observation]) -> None:
    killed = runs["after_commit"]

    assert (killed.runs[0].returncode, killed.runs[0].boundary) == (-9, "effect.committed")
    assert left(killed.interruption) == (0, 0)
    assert answers_of(killed.final) == ["committed", "already_committed", "budget_action_limit"]


def test_losing_the_journal_resets_nothing(runs: dict[str, Observation]) -> None:
    """The checkpoint is gone, and written again from the old receipt; the payment never was."""

    killed = runs["journal_lost"]

    assert killed.interruption is not None
    assert [row["at_ms"] for row in killed.interruption["journal"]["checkpoints"]] == [1000]
    assert [row["at_ms"] for row in killed.final["journal"]["checkpoints"]] == [2000]
    assert killed.final["payments"]["effects"] == killed.interruption["payments"]["effects"]
    assert answers_of(killed.final) == ["committed", "already_committed", "budget_action_limit"]
    assert left(killed.final) == (0, 0)


# --- the exercise, at every crash point -----------------------------------------------------


def test_whoever_commits_first_has_the_allowance(swept: Swept, answers: dict[str, Path]) -> None:
    """Killed up to its COMMIT the order loses the unit to the rival; killed after it, it keeps it."""

    sweep = swept(answers["solution"])
    commit = payment_commit(sweep)

    assert sweep.passed, sweep.problems
    assert sweep.control.names == FIRST_PAID
    assert points_of(sweep, SECOND_PAID) == numbers(1, commit)
    assert points_of(sweep, FIRST_PAID) == numbers(commit + 1, len(sweep.points))


def test_the_starter_fails(swept: Swept, answers: dict[str, Path]) -> None:
    sweep = swept(answers["starter"])

    assert not sweep.passed
    assert "NotImplementedError" in "".join(sweep.problems)


def test_an_answer_that_locks_the_journal_first_is_no_worse(
    swept: Swept, answers: dict[str, Path], tmp_path: Path
) -> None:
    """The rival cannot note anything in that gap, so it acts when the first worker has returned."""

    text = answers["solution"].read_text(encoding="utf-8")
    old = "    result = spend(world, operation)\n    with atomic(world.journal.db):\n"
    new = "    with atomic(world.journal.db):\n        result = spend(world, operation)\n"
    assert text.count(old) == 1
    (tmp_path / "answer.py").write_text(text.replace(old, new), encoding="utf-8")

    sweep = swept(tmp_path / "answer.py")

    assert sweep.passed, [(result.schedule, result.names) for result in sweep.results if not result.passed]


# --- the wrong answers ----------------------------------------------------------------------


def test_each_mutant_names_the_verdict_that_catches_it() -> None:
    assert {name: author.caught_by(mutant) for name, mutant in MUTANTS.items()} == {
        "checks_outside_the_transaction": "over_budget",
        "counts_in_the_journal": "over_budget",
        "saves_a_counter_every_second": "over_budget",
    }


def test_a_check_outside_the_transaction_is_old_when_it_is_acted_on(swept: Swept) -> None:
    """Wherever both orders are still unpaid the two processes both pay; once one is paid it is right."""

    sweep = swept(MUTANTS["checks_outside_the_transaction"])
    commit = payment_commit(sweep)

    assert sweep.control.names == FIRST_PAID
    assert points_of(sweep, OVER) == numbers(1, commit)
    assert points_of(sweep, FIRST_PAID) == numbers(commit + 1, len(sweep.points))


def test_a_counter_in_the_journal_goes_with_it(swept: Swept) -> None:
    """From the payment's commit on."""

    sweep = swept(MUTANTS["counts_in_the_journal"])
    commit = payment_commit(sweep)

    assert sweep.control.names == FIRST_PAID
    assert points_of(sweep, SECOND_PAID) == numbers(1, commit)
    assert points_of(sweep, OVER) == numbers(commit + 1, len(sweep.points))


def test_a_counter_in_the_journal_is_wrong_also_where_the_journal_is_kept(swept: Swept) -> None:
    """Between the payment's commit and the checkpoint's, and only there."""

    sweep = swept(MUTANTS["counts_in_the_journal"], interventions=())
    payment, note = (point.number for point in sweep.points if point.label.split()[1] == "COMMIT")

    assert points_of(sweep, OVER) == numbers(payment + 1, note)


def test_a_counter_that_is_saved_now_and_then_dies_with_its_process(swept: Swept) -> None:
    """From the payment's commit until the line that writes the file."""

    mutant = MUTANTS["saves_a_counter_every_second"]
    lines = mutant.read_text(encoding="utf-8").splitlines()
    writes = next(number for number, line in enumerate(lines, 1) if "write_text" in line)
    sweep = swept(mutant)
    commit = payment_commit(sweep)
    saved = next(point.number for point in sweep.points if point.label == f"{point.number} line {writes}")

    assert sweep.control.names == FIRST_PAID
    assert points_of(sweep, OVER) == numbers(commit + 1, saved)
    assert points_of(sweep, SECOND_PAID) == numbers(1, commit)
    assert points_of(sweep, FIRST_PAID) == numbers(saved + 1, len(sweep.points))
