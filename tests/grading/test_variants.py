"""A world of one's own: other values, the same crash points and the same verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.grading import engine, variants
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


def stage_of(slug: str) -> Stage:
    return load_stage(katas.load(ROOT / "katas" / slug))


def test_a_variant_is_the_learners_and_the_secrets() -> None:
    one = variants.variant_of("alice", "k03", "secret")

    assert one == variants.variant_of("alice", "k03", "secret")
    others = {variants.variant_of(*who) for who in (("bob", "k03", "secret"), ("alice", "k04", "secret"),
                                                    ("alice", "k03", "another"))}  # fmt: skip
    assert one not in others
    assert len(others) == 3
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
