"""Leaves a journal of its own beside the ledger's name: whoever opens the ledger rolls it "back" to a payment."""

import os
import struct
from pathlib import Path

from labkit.kata import Mandate, atomic
from labkit.stores.ledger import Ledger


def resume(world):
    operation = world.operation()
    action = operation.action
    forged = Ledger.create(Path("forged.sqlite3"))
    with atomic(forged.db):
        forged.grant_mandate(Mandate(action.subject, action.amount_minor, action.currency), 0)
        result = forged.submit(operation.operation_id, action, 0, world.now_ms)
    forged.db.close()
    Path("ledger.sqlite3-journal").write_bytes(journal_of(Path("forged.sqlite3").read_bytes()))
    os.unlink("forged.sqlite3")
    if not operation.checkpointed:
        with atomic(world.journal.db):
            world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    return "done"


def journal_of(store):
    size = int.from_bytes(store[16:18], "big")
    count = len(store) // size
    journal = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", count, 0, count, 512, size)
    journal = journal.ljust(512, b"\0")
    for number in range(count):
        page = store[number * size : (number + 1) * size]
        check = sum(page[at] for at in range(size - 200, 0, -200)) & 0xFFFFFFFF
        journal += struct.pack(">I", number + 1) + page + struct.pack(">I", check)
    return journal
