"""Writes the missing checkpoint without reading the ledger: the request was sent, so it must have worked."""

from __future__ import annotations

from labkit.kata import World, atomic

CAUGHT_BY = "phantom_progress"


def resume(world: World) -> str:
    operation = world.operation()
    if not operation.checkpointed:
        with atomic(world.journal.db):
            world.journal.checkpoint(operation.operation_id, None, world.now_ms)
    return "complete"
