"""Counts the right rows, and then begins its transaction: somebody else may have paid in between."""

from __future__ import annotations

from labkit.kata import Operation, SubmitResult, World, atomic

CAUGHT_BY = "over_budget"


def spend(world: World, operation: Operation) -> SubmitResult | None:
    payments = world.inside()
    known = payments.read(operation.operation_id).status == "committed"
    (spent,) = payments.ledger.db.execute("SELECT count(*) FROM effects").fetchone()
    if not known and spent >= 1:
        return None
    with atomic(payments.ledger.db):
        return payments.insert(operation.operation_id, operation.action)


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
