"""A rival: another process, in the gap before a transaction begins, and never without the one it competes with."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

# A process of its own: a rival is forked from one that has a single thread, which pytest's may not have.
PRELUDE = """
import json, os, signal, sqlite3, sys
from labkit.harness.rivals import Rival

path = sys.argv[1]

def connect(timeout_s=5.0):
    return sqlite3.connect(path, timeout=timeout_s, isolation_level=None)

def work():
    db = connect(0.05)
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO paid VALUES (?)", (os.getpid(),))
        db.execute("COMMIT")
    except sqlite3.OperationalError:
        return 3
    finally:
        db.close()
    return 0

def paid():
    return [row[0] for row in db.execute("SELECT pid FROM paid")]

db = connect()
db.execute("CREATE TABLE paid (pid INTEGER)")
db.close()
rival = Rival(work)
db = connect()
"""


def run(code: str, folder: Path) -> Any:
    """What the code prints, as JSON, with the prelude before it."""
    command = [sys.executable, "-I", "-c", PRELUDE + code, str(folder / "paid.sqlite3")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return json.loads(done.stdout)


def test_it_acts_after_what_was_read_and_before_what_is_written(tmp_path: Path) -> None:
    """The reading is old by the time that the transaction begins; the row is another process's."""

    before, after, pids = run(
        """
rival.watch(db)
before = paid()
db.execute("BEGIN IMMEDIATE")
print(json.dumps([before, paid(), [os.getpid(), rival.pid]]))
""",
        tmp_path,
    )

    assert before == []
    assert after == [pids[1]]
    assert pids[0] != pids[1]


def test_it_acts_once(tmp_path: Path) -> None:
    rows = run(
        """
rival.watch(db)
for verb in ("BEGIN IMMEDIATE", "COMMIT", "BEGIN", "COMMIT", "BEGIN IMMEDIATE", "ROLLBACK"):
    db.execute(verb)
rival.act()
rival.close()
print(json.dumps(paid()))
""",
        tmp_path,
    )

    assert len(rows) == 1


def test_one_that_met_a_lock_acts_at_the_next_call(tmp_path: Path) -> None:
    during, was_done, after = run(
        """
db.execute("BEGIN IMMEDIATE")
rival.act()
during, was_done = paid(), rival.is_done
db.execute("COMMIT")
rival.act()
print(json.dumps([during, was_done, paid()]))
""",
        tmp_path,
    )

    assert (during, was_done, len(after)) == ([], False, 1)


def test_a_dead_rival_holds_nobody_up(tmp_path: Path) -> None:
    rows = run(
        """
os.kill(rival.pid, signal.SIGKILL)
rival.watch(db)
db.execute("BEGIN IMMEDIATE")
print(json.dumps(paid()))
""",
        tmp_path,
    )

    assert rows == []


def test_it_ends_with_the_process_that_it_competes_with(tmp_path: Path) -> None:
    """Both hold the end of one pipe: its end of file says that both are gone."""

    ours, theirs = os.pipe()
    code = PRELUDE + "print(rival.pid, flush=True)\nsignal.pause()\n"
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", code, str(tmp_path / "paid.sqlite3")],
        stdout=subprocess.PIPE,
        pass_fds=(theirs,),
    )
    os.close(theirs)
    assert process.stdout is not None
    assert int(process.stdout.readline()) != process.pid

    process.send_signal(signal.SIGKILL)
    ready, _, _ = select.select([ours], [], [], 5)

    assert ready == [ours]
    assert os.read(ours, 1) == b""
    assert process.wait(5) == -signal.SIGKILL
    process.stdout.close()
    os.close(ours)
