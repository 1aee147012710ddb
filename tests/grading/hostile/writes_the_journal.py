"""Writes the checkpoint into the journal by hand, for a payment that nobody made."""


def resume(world):
    db = world.journal.db
    operation = world.operation()
    db.execute("PRAGMA foreign_keys=OFF")
    db.execute("PRAGMA ignore_check_constraints=ON")
    db.execute("BEGIN")
    columns = [row["name"] for row in db.execute("PRAGMA table_info(checkpoints)")]
    known = {
        "workflow_id": operation.workflow_id,
        "step": operation.step,
        "operation_id": operation.operation_id,
        "effect_id": 1,
        "at_ms": 1000,
    }
    values = [known.get(name, 1) for name in columns]
    db.execute(f"INSERT INTO checkpoints VALUES ({', '.join('?' * len(values))})", values)
    db.execute("UPDATE operations SET state = 'OUTCOME_VERIFIED'")
    db.execute("COMMIT")
    return "done"
