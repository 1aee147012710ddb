"""Really competing processes want the last unit of an allowance.  The rows decide who got it, never an exit code."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from labkit.stores import sqlite
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import BudgetPolicy, Mandate

COMPETITORS = 3

# One round a ledger file: fork the competitors, let each open the ledger, then let all go at once.
RACE = """
import os, sys
from pathlib import Path
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action

def pay(ledger, number):
    key = "order-1001:charge" if same_key else f"order-100{number}:charge"
    subject = "order-1001" if same_key else f"order-100{number}"
    with atomic(ledger.db):
        return ledger.submit(key, Action("charge", subject, 4000, "USD"), 0, number)

def pay_by_an_old_look(ledger, number):
    spent = ledger.consumption()
    arrive()
    ledger.consumption = lambda: spent
    return pay(ledger, number)

def arrive():
    os.write(here_write, b"x")
    os.read(start_read, 1)

competitors, same_key, worker = int(sys.argv[1]), sys.argv[2] == "same", globals()[sys.argv[3]]
for path in sys.argv[4:]:
    (here_read, here_write), (start_read, start_write) = os.pipe(), os.pipe()
    pids = []
    for number in range(1, competitors + 1):
        pid = os.fork()
        if pid == 0:
            os.close(start_write)
            ledger = Ledger.open(Path(path))
            if worker is pay:
                arrive()
            status = worker(ledger, number).status
            os._exit(0)
        pids.append(pid)
    os.close(start_read)
    for _ in pids:
        assert os.read(here_read, 1) == b"x"
    os.close(start_write)
    for pid in pids:
        os.waitpid(pid, 0)
    for fd in (here_read, here_write):
        os.close(fd)
"""


def ledgers(folder: Path, budget: BudgetPolicy, rounds: int) -> list[Path]:
    """A fresh ledger for every round, each with room for one charge and permission for several."""
    made = []
    for number in range(rounds):
        ledger = Ledger.create(folder / f"ledger-{number}.sqlite3", budget=budget)
        with atomic(ledger.db):
            for competitor in range(1, COMPETITORS + 1):
                ledger.grant_mandate(Mandate(f"order-100{competitor}", 4000, "USD"), 0)
        ledger.db.close()
        made.append(ledger.path)
    return made


def compete(paths: list[Path], keys: str = "own", worker: str = "pay") -> list[list[dict[str, Any]]]:
    """Run one round on every ledger; returns, by round, what the ledger's rows say of each competitor."""
    command = [sys.executable, "-I", "-c", RACE, str(COMPETITORS), keys, worker, *map(str, paths)]
    subprocess.run(command, check=True, timeout=100)
    return [rows_of(path, "SELECT * FROM invocations ORDER BY invocation_id") for path in paths]


def rows_of(path: Path, sql: str) -> list[dict[str, Any]]:
    """Rows of a ledger, read when all is over."""
    ledger = Ledger.open(path)
    found = sqlite.rows(ledger.db, sql)
    ledger.db.close()
    return found


LAST_UNITS = {
    "budget_action_limit": BudgetPolicy(1),
    "budget_currency_limit": BudgetPolicy(None, (("USD", 7999),)),
}
ROUNDS = {"budget_action_limit": 50, "budget_currency_limit": 15}


@pytest.mark.parametrize(("refusal", "budget"), LAST_UNITS.items())
def test_one_commits_and_the_others_are_refused_in_every_round(
    tmp_path: Path, refusal: str, budget: BudgetPolicy
) -> None:
    """The second transaction sees the first: one effect, in every round (50 of 50 for the count), for a cap of either kind."""

    rounds = ROUNDS[refusal]
    paths = ledgers(tmp_path, budget, rounds)
    answers = compete(paths)
    effects = [rows_of(path, "SELECT * FROM effects") for path in paths]

    assert [Counter({"committed": 1, refusal: COMPETITORS - 1})] * rounds == [
        Counter(row["status"] for row in answer) for answer in answers
    ]
    assert [len(rows) for rows in effects] == [1] * rounds
    assert [answer[0]["operation_id"] for answer in answers] == [rows[0]["operation_id"] for rows in effects]


def test_one_operation_of_several_processes_is_one_effect(tmp_path: Path) -> None:
    """All ask under the same id: one effect, and the others get its receipt although nothing is left."""

    paths = ledgers(tmp_path, BudgetPolicy(1), 15)
    answers = compete(paths, keys="same")

    assert [[row["status"] for row in answer] for answer in answers] == [
        ["committed"] + ["already_committed"] * (COMPETITORS - 1)
    ] * 15
    assert [len(rows_of(path, "SELECT * FROM effects")) for path in paths] == [1] * 15


@pytest.mark.parametrize("budget", LAST_UNITS.values(), ids=LAST_UNITS)
def test_the_race_is_real(tmp_path: Path, budget: BudgetPolicy) -> None:
    """A wrong worker that looks before its transaction passes the cap in every round: the rounds above can fail."""

    paths = ledgers(tmp_path, budget, 5)
    compete(paths, worker="pay_by_an_old_look")

    assert [len(rows_of(path, "SELECT * FROM effects")) for path in paths] == [COMPETITORS] * 5
