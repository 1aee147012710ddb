"""Wrong: every attempt has a key of its own, so the bank takes the retry for another payment."""

from contextlib import closing
from pathlib import Path
from uuid import uuid4

from shop import ORDER, crash_facts, crash_world, mark, open_bank, open_journal, pay

__all__ = ["crash_facts", "crash_world", "handler"]


def handler(folder: Path) -> str:
    """Have the order paid."""
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        order = journal.execute("SELECT * FROM orders WHERE id = ?", (ORDER,)).fetchone()
        if order["status"] == "paid":
            return "nothing to do"
        pay(bank, key=str(uuid4()), order_id=order["id"], amount_cents=order["amount_cents"])
        mark(journal, order["id"], "paid")
    return "paid"
