"""Counts what the journal has noted: what was paid and not noted, or noted and lost, is free again."""

from __future__ import annotations

from labkit.kata import Operation, SubmitResult, World, atomic

CAUGHT_BY = "over_budget"


def spend(world: World, operation: Operation) -> SubmitResult | None:
    payments = world.inside()
    with atomic(payments.ledger.db):
        (spent,) = world.journal.db.execute("SELECT count(*) FROM checkpoints").fetchone()
        known = payments.read(operation.operation_id).status == "committed"
        if known or spent < 1:
            return payments.insert(operation.operation_id, operation.action)
    return None


def resume(world: World) -> str:
    operation = world.operation()
    if operation.state != "EFFECT_PENDING":
        return operation.state  # noted already
    result = spend(world, operation)
    with atomic(world.journal.db):
        if result is None:
            world.journal.refuse(operation.operation_id, "budget_action_limit", world.now_ms)
        else:
            world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return "refused" if result is None else result.status
