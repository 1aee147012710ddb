"""Leaves a journal that is bad to read: a view that never ends, values that are huge, no such columns."""

import sqlite3


def resume(world):
    db = sqlite3.connect("journal.sqlite3")
    for name in ("checkpoints", "events", "operations"):
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute(f"DROP TABLE IF EXISTS {name}")
    db.execute("CREATE TABLE checkpoints (a, b GENERATED ALWAYS AS (hex(zeroblob(200000000))) VIRTUAL)")
    db.executemany("INSERT INTO checkpoints (a) VALUES (?)", [(number,) for number in range(50)])
    db.execute("CREATE TABLE [x; DROP TABLE y] (z)")
    db.execute("CREATE TABLE operations (state BLOB)")
    db.execute(
        "CREATE VIEW events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n"
    )
    db.commit()
    return "done"
