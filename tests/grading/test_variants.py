"""A world of one's own: other values, the same crash points and the same verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import engine, marks, variants
from labkit.grading.stage import Stage, load_stage
from labkit.grading.variants import Variant
from labkit.harness.pool import Pool
from labkit.learning import katas

from .test_sandbox import solution

ROOT = Path(__file__).parents[2]
VARIANT = Variant(factor=7, shift=1, order=5000)
COPIED = """
from labkit.kata import Action, World, atomic


def resume(world: World) -> str:
    operation = world.operation()
    if operation.checkpointed:
        return "complete"
    found = world.payments.read("order-1001:charge")
    receipt = found.receipt
    if receipt is None:
        action = Action("charge", "order-1001", 4000, "USD")
        receipt = world.payments.submit("order-1001:charge", action).receipt
    with atomic(world.journal.db):
        world.journal.checkpoint("order-1001:charge", receipt, world.now_ms)
    return "done"
"""

FITTED = """
from labkit.kata import World, atomic


def resume(world: World) -> str:
    operation = world.operation()
    if operation.checkpointed:
        return "complete"
    is_first_recovery = world.now_ms == 2000
    key = operation.operation_id if is_first_recovery else f"{operation.operation_id}:{world.now_ms}"
    receipt = world.payments.submit(key, operation.action).receipt
    with atomic(world.journal.db):
        world.journal.checkpoint(operation.operation_id, receipt, world.now_ms)
    return "done"
"""


def stage_of(slug: str) -> Stage:
    return load_stage(katas.load(ROOT / "katas" / slug))


def test_a_variant_is_the_learners_and_the_secrets() -> None:
    one = variants.variant_of("alice", "k03", "secret")

    assert one == variants.variant_of("alice", "k03", "secret")
    others = {variants.variant_of(*who) for who in (("bob", "k03", "secret"), ("alice", "k04", "secret"),
                                                    ("alice", "k03", "another"))}  # fmt: skip
    assert one not in others
    assert len(others) == 3
    assert len(one.draws) == variants.DRAWN_SCHEDULES
    assert one.draws != variants.variant_of("bob", "k03", "secret").draws
    assert len({variants.variant_of(str(number), "k03", "s").amount(4000) for number in range(200)}) > 50


def test_values_change_together() -> None:
    stage = variants.staged(stage_of("k03_missing_ack"), VARIANT)
    world = stage.exercise(Path("answer.py")).world

    [step], [ledger] = world.steps, world.ledgers
    assert (step.action.subject, step.action.amount_minor, step.action.currency) == (
        "order-5000",
        28_000,
        "EUR",
    )
    assert step.operation_id == "order-5000:charge"
    [mandate] = ledger.mandates
    assert (mandate.subject, mandate.amount_minor, mandate.currency) == ("order-5000", 28_000, "EUR")


def test_an_order_that_the_kata_knows_by_name_keeps_it() -> None:
    stage = variants.staged(stage_of("k17_tell_the_customer"), VARIANT)
    world = stage.exercise(Path("answer.py")).world

    assert {step.action.subject for step in world.steps} == {"order-1001"}
    assert {step.action.amount_minor for step in world.steps} == {28_000, 0}


def test_an_allowance_that_the_kata_states_keeps_its_amount_and_currency() -> None:
    """The exercise of k14 says 4,000 cents, and its checks judge by that: other amounts would never fit."""
    world = variants.staged(stage_of("k14_the_allowance"), VARIANT).exercise(Path("answer.py")).world

    assert {(step.action.amount_minor, step.action.currency) for step in world.steps} == {(4000, "USD")}
    assert [step.action.subject for step in world.steps] == ["order-5000", "order-5001"]
    assert world.rival == "order-5001"


def fault_free(stage: Stage, answer: Path, pool: Pool, scratch: Path) -> dict[str, Any]:
    job = engine.job_of(stage, stage.exercise(answer), scratch)
    answered: dict[str, Any] = pool.one("control", job.as_json)
    return answered


def test_every_solution_takes_the_same_path_in_a_learners_world(tmp_path: Path) -> None:
    with Pool(1) as pool:
        for slug in katas.names():
            stage, answer = stage_of(slug), tmp_path / f"{slug}.py"
            answer.write_text(solution(slug), encoding="utf-8")
            plain = fault_free(stage, answer, pool, tmp_path / "plain" / slug)
            varied = fault_free(variants.staged(stage, VARIANT), answer, pool, tmp_path / "varied" / slug)

            assert varied["points"] == plain["points"], slug
            for ran in (plain, varied):
                ran["names"] = [verdict["name"] for verdict in ran["verdicts"]]
            assert varied["names"] == plain["names"], slug


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_answer_that_is_right_in_the_first_recovery_alone_falls(tmp_path: Path) -> None:
    """One crash at every point shows nothing wrong with it; a pair does, and is repeated by its command."""
    stage = stage_of("k03_missing_ack")
    answer = tmp_path / "answer.py"
    answer.write_text(FITTED, encoding="utf-8")
    after_the_payment = (15, 2**32 - 1)  # numbers as drawn: they choose among the points by their remainder
    with Pool(2) as pool:
        assert engine.grade(stage, answer, pool=pool).passed
        found = engine.grade(replace(stage, draws=(after_the_payment,) * 2), answer, pool=pool)
        [pair] = [one for one in found.results if len(one.schedule) == 2]
        at = [point.number for point in pair.schedule]
        again = engine.repeat(stage, answer, at, pool=pool)

    assert (pair.names, again.names) == (("duplicate",), ("duplicate",))
    assert (pair.outcome, again.schedule) == ("judged", pair.schedule)
    assert pair.command.startswith(f"lab trial k03_missing_ack --at {at[0]},{at[1]} --answer ")
    mark = marks.mark_of(stage.kata, found, frozenset(), False)
    assert (mark.exercise, mark.points_passed == mark.points_counted) == (0, True)
    assert mark.drawn == ((pair.command, "duplicate"),)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_crash_points_stay_and_a_copied_constant_falls(tmp_path: Path) -> None:
    stage = stage_of("k03_missing_ack")
    answer, copied = tmp_path / "answer.py", tmp_path / "copied.py"
    answer.write_text(solution("k03_missing_ack"), encoding="utf-8")
    copied.write_text(COPIED, encoding="utf-8")

    with Pool(2) as pool:
        plain = engine.grade(stage, answer, pool=pool)
        varied = engine.grade(variants.staged(stage, VARIANT), answer, pool=pool)
        assert engine.grade(stage, copied, pool=pool).passed
        fallen = engine.grade(variants.staged(stage, VARIANT), copied, pool=pool)

    assert (varied.points, varied.verdicts, varied.passed) == (plain.points, plain.verdicts, True)
    assert not fallen.passed
