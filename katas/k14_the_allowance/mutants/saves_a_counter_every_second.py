"""Keeps a counter and saves it once a second, and at its end: what a death takes with it is free again."""

from __future__ import annotations

import json

from labkit.kata import Operation, SubmitResult, World, atomic

CAUGHT_BY = "over_budget"


class Counter:
    """Payments so far, in memory; `save` writes them to a file when a second has passed."""

    def __init__(self, world: World) -> None:
        self.file = world.folder / "counter.json"
        self.saved_at_ms = world.now_ms
        self.spent = 0

    def load(self) -> None:
        self.spent = json.loads(self.file.read_text()) if self.file.exists() else 0

    def save(self, now_ms: int, at_the_end: bool = False) -> None:
        if at_the_end or now_ms - self.saved_at_ms >= 1000:
            self.file.write_text(json.dumps(self.spent))


def spend(world: World, operation: Operation, counter: Counter) -> SubmitResult | None:
    payments = world.inside()
    with atomic(payments.ledger.db):
        counter.load()
        known = payments.read(operation.operation_id).status == "committed"
        if not known and counter.spent >= 1:
            return None
        result = payments.insert(operation.operation_id, operation.action)
    if not known:
        counter.spent += 1
        counter.save(world.now_ms)
    return result


def resume(world: World) -> str:
    operation = world.operation()
    if operation.state != "EFFECT_PENDING":
        return operation.state  # noted already
    counter = Counter(world)
    result = spend(world, operation, counter)
    with atomic(world.journal.db):
        if result is None:
            world.journal.refuse(operation.operation_id, "budget_action_limit", world.now_ms)
        else:
            world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    counter.save(world.now_ms, at_the_end=True)
    return "refused" if result is None else result.status
