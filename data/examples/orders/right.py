"""Right: the key is the order's own, the same in every attempt, and the bank is asked before the journal."""

from contextlib import closing
from pathlib import Path

from shop import ORDER, crash_facts, crash_world, mark, open_bank, open_journal, pay

__all__ = ["crash_facts", "crash_world", "handler"]


def handler(folder: Path) -> str:
    """Have the order paid, however often this is called."""
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        order = journal.execute("SELECT * FROM orders WHERE id = ?", (ORDER,)).fetchone()
        if order["status"] == "paid":
            return "nothing to do"
        pay(bank, key=f"order-{order['id']}", order_id=order["id"], amount_cents=order["amount_cents"])
        mark(journal, order["id"], "paid")
    return "paid"
