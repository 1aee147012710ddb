"""A right handler that mints a random key, and makes it durable before it pays."""

from __future__ import annotations

import uuid

from labkit.kata import World, atomic


def handler(world: World) -> str:
    """The key is opaque, so two runs never have the same one; persisted first, it is as good as any."""
    db = world.journal.db
    with atomic(db):
        db.execute("CREATE TABLE IF NOT EXISTS minted (one INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT")
        db.execute("INSERT OR IGNORE INTO minted VALUES (1, ?)", (str(uuid.uuid4()),))
    key = db.execute("SELECT key FROM minted").fetchone()[0]
    operation = world.operation()
    if operation.checkpointed:
        return "nothing to do"
    result = world.payments.submit(key, operation.action)
    with atomic(db):
        world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return result.status
