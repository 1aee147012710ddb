"""The shop's two stores and the four functions that the handlers share.  Plain sqlite3, nothing else.

`shop.sqlite3` is the shop's own journal; `bank.sqlite3` belongs to the bank, which pays once under one
key and answers a known key with the payment that it has.  No transaction spans the two.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

ORDER = 1001


def open_journal(folder: Path) -> sqlite3.Connection:
    """The shop's record of its orders."""
    db = sqlite3.connect(folder / "shop.sqlite3")
    db.row_factory = sqlite3.Row
    return db


def open_bank(folder: Path) -> sqlite3.Connection:
    """The bank's record of its payments."""
    db = sqlite3.connect(folder / "bank.sqlite3")
    db.row_factory = sqlite3.Row
    return db


def pay(bank: sqlite3.Connection, key: str, order_id: int, amount_cents: int) -> None:
    """Pay once for this key: a key that the bank knows changes nothing."""
    with bank:
        bank.execute(
            "INSERT INTO payments (key, order_id, amount_cents) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
            (key, order_id, amount_cents),
        )


def mark(journal: sqlite3.Connection, order_id: int, status: str) -> None:
    """Write down what the shop believes of an order: new, sending, paid or failed."""
    with journal:
        journal.execute("UPDATE orders SET status = ? WHERE id = ?", (status, order_id))


def crash_world(folder: Path) -> None:
    """Both stores, with one order that is not paid yet."""
    with closing(open_journal(folder)) as journal, journal:
        journal.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount_cents INTEGER, status TEXT)")
        journal.execute("INSERT INTO orders VALUES (?, 4000, 'new')", (ORDER,))
    with closing(open_bank(folder)) as bank, bank:
        bank.execute("CREATE TABLE payments (key TEXT PRIMARY KEY, order_id INTEGER, amount_cents INTEGER)")


def crash_facts(folder: Path) -> dict:
    """What the bank did for each order, and what the shop says of it."""
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        orders = journal.execute("SELECT id, status FROM orders").fetchall()
        paid = dict(bank.execute("SELECT order_id, count(*) FROM payments GROUP BY order_id").fetchall())
    return {
        f"order {order['id']}": {
            "effects": paid.get(order["id"], 0),
            "recorded": order["status"] == "paid",
            "over": order["status"] in ("paid", "failed"),
        }
        for order in orders
    }
