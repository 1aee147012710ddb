"""Wrong: an attempt that did not come back is taken for a failure; the bank is never asked what it did."""

from contextlib import closing
from pathlib import Path

from shop import ORDER, crash_facts, crash_world, mark, open_bank, open_journal, pay

__all__ = ["crash_facts", "crash_world", "handler"]


def handler(folder: Path) -> str:
    """Have the order paid, in at most one attempt."""
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        order = journal.execute("SELECT * FROM orders WHERE id = ?", (ORDER,)).fetchone()
        if order["status"] == "sending":
            mark(journal, order["id"], "failed")
        if order["status"] != "new":
            return "nothing to do"
        mark(journal, order["id"], "sending")
        pay(bank, key=f"order-{order['id']}", order_id=order["id"], amount_cents=order["amount_cents"])
        mark(journal, order["id"], "paid")
    return "paid"
