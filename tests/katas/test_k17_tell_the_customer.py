"""k17: payment and notice, each once and each recorded, whatever dies where; its wrong answers, where they fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.grading.stage import Stage
from labkit.harness.workers import pay_and_tell
from labkit.learning import katas
from labkit.learning.check import contract_of
from labkit.observations import CrashPoint, Observation, Sweep
from labkit.ui import author

ROOT = Path(__file__).parents[2]
KATA = katas.load(ROOT / "katas" / "k17_tell_the_customer")
REFERENCE = Path(pay_and_tell.__file__)
MUTANTS = {mutant.stem: mutant for mutant in KATA.mutants}
BOTH = ("exactly_one", "exactly_one")
AT_BOUNDARIES = ("boundary",)  # where every point ends alike, a few of them tell as much

Swept = Callable[..., Sweep]


def edited(folder: Path, *changes: tuple[str, str]) -> Path:
    """The reference with some of its text replaced."""
    text = REFERENCE.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "answer.py").write_text(text, encoding="utf-8")
    return folder / "answer.py"


def numbers(points: tuple[CrashPoint, ...], name: str) -> list[int]:
    """Where in a run's stream a statement or boundary stands."""
    return [point.number for point in points if point.label.split()[1] == name]


def by_verdict(sweep: Sweep) -> dict[tuple[str, ...], list[int]]:
    """The crash points that end in each pair of verdicts, payment's and notice's; those that pass left out."""
    found: dict[tuple[str, ...], list[int]] = {}
    for result in sweep.results:
        if not result.passed:
            found.setdefault(result.names, []).append(result.schedule[0].number)
    return found


def upto(first: int, last: int) -> list[int]:
    """All numbers from the first to the last."""
    return list(range(first, last + 1))


# --- the runs of the lesson -----------------------------------------------------------------


def test_killed_between_its_commit_and_its_acknowledgement_the_notice_is_sent_once(
    stage: Stage, runs: dict[str, Observation]
) -> None:
    """At the kill the payment is verified and the notice stands unacknowledged; in the end there is one of each."""

    assert {name: seen.value for name, seen in stage.observed(runs).items()} == {
        "payment_state_at_the_kill": "OUTCOME_VERIFIED",
        "notices_at_the_kill": 1,
        "payments_after_resume": 1,
        "notices_after_resume": 1,
        "notices_with_one_flag": 0,
    }
    assert [(kept.run, kept.verdict, kept.passed) for kept in contract_of(stage.contract, runs)] == [
        ("uninterrupted", "exactly_one, exactly_one", True),
        ("killed", "exactly_one, exactly_one", True),
        ("one_flag", "exactly_one, lost", True),
    ]


def test_the_verified_payment_says_nothing_of_the_notice(runs: dict[str, Observation]) -> None:
    """Two operations, two ids, two states, two ledgers."""

    at_the_kill = runs["killed"].interruption
    assert at_the_kill is not None
    states = {
        name: [(row["operation_id"], row["ledger"], row["state"]) for row in rows["journal"]["operations"]]
        for name, rows in (("kill", at_the_kill), ("end", runs["killed"].final))
    }

    assert states == {
        "kill": [
            ("order-1001:charge", "payments", "OUTCOME_VERIFIED"),
            ("order-1001:notify", "messages", "EFFECT_PENDING"),
        ],
        "end": [
            ("order-1001:charge", "payments", "OUTCOME_VERIFIED"),
            ("order-1001:notify", "messages", "EFFECT_COMMITTED"),
        ],
    }


def test_the_notice_tells_what_the_receipt_says(runs: dict[str, Observation]) -> None:
    """Amount and currency as they stand in the payment's ledger."""

    [notice] = runs["uninterrupted"].final["messages"]["effects"]

    assert notice["details"] == '{"text":"We received 4000 USD cents for order-1001.","to":"ann@example.org"}'
    assert (notice["amount_minor"], notice["currency"]) == (0, "XXX")


def test_the_second_kill_falls_where_the_first_one_does_not(runs: dict[str, Observation]) -> None:
    """Both effects pass `effect.committed`; the run says at which passing it was stopped."""

    killed = runs["killed"]

    assert (killed.runs[0].returncode, killed.runs[0].boundary) == (-9, "effect.committed")
    assert killed.fault == "hold at effect.committed 2"
    assert killed.interruption is not None
    assert len(killed.interruption["messages"]["effects"]) == 1


# --- the exercise, at every crash point -----------------------------------------------------


def test_the_reference_passes_at_every_point(swept: Swept) -> None:
    """One payment and one notice, recorded, wherever it is killed; some kills fall after each commit."""

    sweep = swept(REFERENCE)

    assert sweep.passed, sweep.problems
    assert {result.names for result in sweep.all_results} == {BOTH}
    assert {tuple(sorted(result.happened.items())) for result in sweep.results} == {
        (("charge order-1001", 1), ("notify order-1001", 1))
    }
    assert len(numbers(sweep.points, "effect.committed")) == 2
    assert len(numbers(sweep.points, "checkpoint.recorded")) == 2


def test_the_reference_passes_pairs_of_kills(swept: Swept) -> None:
    """Killed at a boundary of the first run and again at one of the resume; the author's gate takes every point."""

    sweep = swept(REFERENCE, "2", sources=AT_BOUNDARIES)

    assert sweep.passed, sweep.problems
    assert {result.names for result in sweep.results} == {BOTH}
    assert {len(result.schedule) for result in sweep.results} == {2}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_reference_is_right_for_any_number_of_kills(swept: Swept) -> None:
    """Depth all closes: no sequence of crashes leads to a state that was not seen."""

    closure = swept(REFERENCE, "all", sources=("boundary", "statement")).closure

    assert closure is not None
    assert (closure["closed"], closure["bad_finals"]) == (True, [])


@pytest.mark.parametrize("fault", ["lost_reply", "term", "pause"])
def test_the_reference_passes_other_faults(swept: Swept, fault: str) -> None:
    """A reply that is lost, of either provider; a polite signal; a worker that sleeps while another takes over."""

    sweep = swept(REFERENCE, fault=fault)

    assert sweep.passed, (sweep.problems, by_verdict(sweep))


def test_a_payment_that_is_refused_is_not_told(swept: Swept) -> None:
    """With the mandate revoked at the kill: paid and told, or refused and rightly nothing said."""

    sweep = swept(REFERENCE, interventions=("revoke_mandate",))
    committed = numbers(sweep.points, "effect.committed")[0]

    assert sweep.passed, sweep.problems
    assert [result.names for result in sweep.results] == [
        ("refused", "refused") if result.schedule[0].number < committed else BOTH for result in sweep.results
    ]


def test_the_starter_fails(swept: Swept, answers: dict[str, Path]) -> None:
    """The payment flow alone: the payment is right, and nobody would ever be told."""

    sweep = swept(answers["starter"])

    assert not sweep.passed
    assert sweep.control.names == ("exactly_one", "lost")
    assert "NotImplementedError" in "".join(sweep.problems)


# --- the wrong answers ----------------------------------------------------------------------


def test_there_is_a_mutant_for_each_mistake() -> None:
    """Each names the verdict that must catch it."""

    assert {name: author.caught_by(mutant) for name, mutant in MUTANTS.items()} == {
        "borrowed_id": "orphan_effect",
        "one_flag": "lost",
        "resends": "duplicate",
        "told_first": "unfounded_notice",
    }


def test_a_resend_on_a_missing_acknowledgement_is_a_second_notice(swept: Swept) -> None:
    """From the notice's commit until its acknowledgement is committed, and nowhere else."""

    sweep = swept(MUTANTS["resends"])
    told, acknowledged = numbers(sweep.points, "effect.committed")[1], numbers(sweep.points, "COMMIT")[-1]

    assert sweep.control.names == BOTH
    assert by_verdict(sweep) == {("exactly_one", "duplicate"): upto(told, acknowledged)}


def test_one_flag_for_both_loses_the_notice(swept: Swept) -> None:
    """Lost from the flag's commit to the notice's; after that the notice stands and nobody recorded it."""

    sweep = swept(MUTANTS["one_flag"])
    commits, told = numbers(sweep.points, "COMMIT"), numbers(sweep.points, "effect.committed")[1]
    flag = commits[1]  # payments, then the journal's flag, then messages, then the journal

    assert sweep.control.names == BOTH
    assert by_verdict(sweep) == {
        ("exactly_one", "lost"): upto(flag + 1, told - 1),
        ("exactly_one", "orphan_effect"): upto(told, commits[-1]),
    }


def test_a_notice_before_the_payment_is_caught_by_a_crash_between_the_two(swept: Swept) -> None:
    """From the notice's commit until the payment is verified; a run without a crash looks right."""

    sweep = swept(MUTANTS["told_first"])
    told, verified = numbers(sweep.points, "effect.committed")[0], numbers(sweep.points, "COMMIT")[-1]

    assert sweep.control.names == BOTH
    assert by_verdict(sweep) == {("exactly_one", "unfounded_notice"): upto(told, verified)}


def test_a_notice_of_a_payment_that_never_came_is_unfounded(swept: Swept) -> None:
    """The same mutant with the mandate revoked in between: the customer was told of what was refused."""

    sweep = swept(MUTANTS["told_first"], interventions=("revoke_mandate",), sources=AT_BOUNDARIES)
    told, paid = numbers(sweep.points, "effect.committed")

    assert {
        result.names for result in sweep.results if told <= result.schedule[0].number < paid
    } == {("refused", "unfounded_notice")}  # fmt: skip


def test_a_notice_under_the_payments_id_has_no_record_of_its_own(swept: Swept) -> None:
    """It is sent once and nobody can say so: also in a run without a crash."""

    sweep = swept(MUTANTS["borrowed_id"], sources=AT_BOUNDARIES)

    assert {result.names for result in sweep.all_results} == {("exactly_one", "orphan_effect")}


def test_a_borrowed_id_is_found_also_where_the_record_is_the_notices_own(
    swept: Swept, tmp_path: Path
) -> None:
    answer = edited(
        tmp_path,
        (
            "world.messages.submit(notice.operation_id, ",
            'world.messages.submit(world.operation("charge").operation_id, ',
        ),
    )

    assert swept(answer, sources=AT_BOUNDARIES).control.names == ("exactly_one", "shared_identity")


def test_a_notice_that_does_not_quote_the_receipt_is_untrue(swept: Swept, tmp_path: Path) -> None:
    answer = edited(
        tmp_path, ("We received {receipt.amount_minor} {receipt.currency}", "We received 5000 USD")
    )

    control = swept(answer, sources=AT_BOUNDARIES).control

    assert control.names == ("exactly_one", "untrue_notice")
    assert control.verdicts[1].because.endswith(
        "'We received 5000 USD cents for order-1001.', and nothing of 4000"
    )


def test_a_notice_whose_intent_was_recorded_is_stuck_and_not_lost(swept: Swept, tmp_path: Path) -> None:
    """Never sent either way; but a scan of the journal finds the one that was recorded."""

    answer = edited(tmp_path, ("    if not notice.checkpointed:\n", "    if False:\n"))

    assert swept(answer, sources=AT_BOUNDARIES).control.names == ("exactly_one", "stuck")
