"""A wrong handler whose fault needs three crashes: it loses patience and mints a new key."""

from __future__ import annotations

from labkit.kata import World, atomic


def handler(world: World) -> str:
    """Counts its starts, and from the fourth on believes that the first key must be worn out."""
    db = world.journal.db
    with atomic(db):
        db.execute("CREATE TABLE IF NOT EXISTS starts (number INTEGER) STRICT")
        db.execute("INSERT INTO starts SELECT 1 WHERE (SELECT count(*) FROM starts) < 4")
    starts = db.execute("SELECT count(*) FROM starts").fetchone()[0]
    operation = world.operation()
    if operation.checkpointed:
        return "nothing to do"
    key = operation.operation_id if starts < 4 else f"{operation.operation_id}:again"
    result = world.payments.submit(key, operation.action)
    with atomic(db):
        world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return result.status
