"""Handlers that resist, hide, hang or lie: each is killed, judged by its rows and cleaned up, or refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from labkit.errors import BadHandler, HarnessError
from labkit.grading.sweeping import Request, repeat, sweep
from labkit.harness.pool import Pool
from labkit.observations import Sweep

SHOP = Path(__file__).parents[2] / "data" / "examples" / "orders" / "shop.py"
SERIAL = count(1)

HEAD = """
import atexit, os, random, signal, sqlite3, subprocess, sys, time, uuid
from contextlib import closing
from pathlib import Path
from shop import ORDER, crash_facts, crash_world, mark, open_bank, open_journal, pay

HERE = Path(__file__).parent

def settle(folder, key=f"order-{ORDER}"):
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        if journal.execute("SELECT status FROM orders").fetchone()["status"] == "paid":
            return "nothing to do"
        pay(bank, key, ORDER, 4000)
        mark(journal, ORDER, "paid")
    return "paid"
"""
STATEMENTS = 7  # of settle: SELECT, and BEGIN, INSERT or UPDATE, COMMIT in each store

SweepOf = Callable[..., Sweep]


@pytest.fixture
def handler(tmp_path: Path) -> Callable[[str], str]:
    """Writes a handler beside the shop's stores and returns its place."""

    def write(body: str) -> str:
        shutil.copy(SHOP, tmp_path / "shop.py")
        (tmp_path / "hostile.py").write_text(HEAD + body, encoding="utf-8")
        return str(tmp_path / "hostile.py")

    return write


@pytest.fixture
def sweep_of(handler: Callable[[str], str], pool: Pool) -> SweepOf:
    """Sweeps a handler with this body at every SQL statement."""

    def run(body: str, points: tuple[str, ...] = ("statement",), **options: object) -> Sweep:
        return sweep(Request(handler(body), points=points, **options), pool)  # type: ignore[arg-type]

    return run


def is_running(token: str) -> bool:
    """Whether any process has this text in its command line."""
    listed = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True)
    return token in listed.stdout


def test_catching_everything_does_not_save_it(sweep_of: SweepOf) -> None:
    """SIGKILL is nothing that Python could catch."""

    swept = sweep_of("""
def handler(folder):
    while True:
        try:
            return settle(folder)
        except BaseException:
            pass
""")

    assert swept.passed
    assert swept.verdicts == {"exactly_one"}
    assert len(swept.results) == STATEMENTS


def test_signal_handlers_do_not_save_it(sweep_of: SweepOf) -> None:
    """It ignores every signal that can be ignored, and dies all the same."""

    swept = sweep_of("""
def handler(folder):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    return settle(folder)
""")

    assert swept.passed
    assert {result.outcome for result in swept.results} == {"judged"}


def test_one_that_ignores_sigterm_goes_on_to_its_end(handler: Callable[[str], str], pool: Pool) -> None:
    """After the grace period it would be killed; it has ended by then, and left its rows."""

    target = handler("""
def handler(folder):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return settle(folder)
""")
    result = repeat(Request(target, points=("statement",), fault="term"), [4], pool)

    assert result.passed
    assert result.promised[0] == "paid"


GRANDCHILDREN = {
    "a child": 'subprocess.Popen(["sleep", "{token}"])',
    "a child in a session of its own": 'subprocess.Popen(["sleep", "{token}"], start_new_session=True)',
    "a daemon": """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "{token}"])
        os._exit(0)
""",
}


@pytest.mark.parametrize("spawn", GRANDCHILDREN.values(), ids=GRANDCHILDREN.keys())
def test_what_it_started_ends_with_it(sweep_of: SweepOf, spawn: str) -> None:
    """The grandchildren are killed with their parent's session, or as orphans after the trial."""

    token = f"600.{os.getpid()}{next(SERIAL):03}"
    swept = sweep_of(f"""
def handler(folder):
    {spawn.format(token=token)}
    return settle(folder)
""")

    assert swept.passed
    assert len(swept.results) == STATEMENTS
    assert not is_running(token)


def test_one_that_never_returns_is_stopped(sweep_of: SweepOf) -> None:
    """The fault-free run passes its deadline: nothing can be swept, and that is no pass."""

    swept = sweep_of(
        """
def handler(folder):
    settle(folder)
    while True:
        pass
""",
        deadline_s=1.0,
    )

    assert not swept.passed
    assert swept.problems == ("the fault-free run passed its deadline",)
    assert swept.results == ()
    assert swept.control.outcome == "timed_out"


def test_one_that_prints_without_end_is_stopped(sweep_of: SweepOf) -> None:
    """Its output is drained and thrown away; its deadline ends it."""

    swept = sweep_of(
        """
def handler(folder):
    while True:
        print("x" * 10_000)
""",
        deadline_s=1.0,
    )

    assert not swept.passed
    assert swept.problems == ("the fault-free run passed its deadline",)


def test_one_with_crash_points_without_end_is_refused(sweep_of: SweepOf) -> None:
    """A sweep of it would never end, so it does not begin."""

    swept = sweep_of(
        """
def handler(folder):
    for number in range(10**9):
        settled = number
""",
        points=("line",),
    )

    assert swept.problems == ("more than 5000 crash points: choose fewer sources with --points",)
    assert swept.results == ()


def test_one_that_leaves_at_once_has_no_crash_point(sweep_of: SweepOf) -> None:
    """`os._exit(0)` skips every clean-up, the harness's own words included."""

    with pytest.raises(BadHandler, match="no crash point that this sweep can see"):
        sweep_of("""
def handler(folder):
    os._exit(0)
""")


def test_one_that_leaves_at_once_with_lines_is_judged_by_its_rows(sweep_of: SweepOf) -> None:
    """Exit code 0 is a word that a process says of itself."""

    swept = sweep_of(
        """
def handler(folder):
    os._exit(0)
""",
        points=("line",),
    )

    assert not swept.passed
    assert swept.verdicts == {"stuck"}


def test_one_that_kills_its_parent_is_no_score(handler: Callable[[str], str], pool: Pool) -> None:
    """A warm process that dies twice at one task is broken infrastructure; the pool goes on."""

    target = handler("""
def handler(folder):
    os.kill(os.getppid(), signal.SIGKILL)
    return settle(folder)
""")
    with pytest.raises(HarnessError, match="died 2 times at task control"):
        sweep(Request(target, points=("statement",)), pool)

    assert sweep(Request(str(SHOP.with_name("right.py")), points=("statement",)), pool).passed


PAST_THE_SWEEP = {
    "another program": (
        """
def handler(folder):
    code = "import sys; sys.path.insert(0, sys.argv[1]); from hostile import *; " \\
           "pay(open_bank(Path(sys.argv[2])), 'key', ORDER, 4000)"
    subprocess.run([sys.executable, "-c", code, str(HERE), str(folder)], check=True)
    with closing(open_journal(folder)) as journal:
        mark(journal, ORDER, "paid")
""",
        "written by something the sweep cannot see: bank.sqlite3",
    ),
    "a forked process": (
        """
def handler(folder):
    if os.fork() == 0:
        with closing(open_bank(folder)) as bank:
            pay(bank, "key", ORDER, 4000)
        os._exit(0)
    os.wait()
    with closing(open_journal(folder)) as journal:
        mark(journal, ORDER, "paid")
""",
        "written by something the sweep cannot see: bank.sqlite3",
    ),
    "another program, in WAL mode": (
        """
def crash_world(folder, plain=crash_world):
    plain(folder)
    with closing(open_bank(folder)) as bank:
        bank.execute("PRAGMA journal_mode = WAL")

def handler(folder):
    code = "import sys; sys.path.insert(0, sys.argv[1]); from hostile import *; " \\
           "pay(open_bank(Path(sys.argv[2])), 'key', ORDER, 4000)"
    subprocess.run([sys.executable, "-c", code, str(HERE), str(folder)], check=True)
    with closing(open_journal(folder)) as journal:
        mark(journal, ORDER, "paid")
""",
        "written by something the sweep cannot see: bank.sqlite3",
    ),
    "a file that another program wrote": (
        """
def handler(folder):
    subprocess.run(["sh", "-c", "echo paid >> receipts.txt"], cwd=folder, check=True)
    return settle(folder)
""",
        "written by something the sweep cannot see: receipts.txt",
    ),
    "a door behind sqlite3": (
        """
def handler(folder):
    import _sqlite3
    with closing(_sqlite3.connect(str(folder / "bank.sqlite3"))) as bank:
        pay(bank, "key", ORDER, 4000)
    with closing(open_journal(folder)) as journal:
        mark(journal, ORDER, "paid")
""",
        "1 SQLite connection(s) opened where the sweep cannot see",
    ),
}


@pytest.mark.parametrize(("body", "problem"), PAST_THE_SWEEP.values(), ids=PAST_THE_SWEEP.keys())
def test_what_the_sweep_cannot_see_is_a_problem(sweep_of: SweepOf, body: str, problem: str) -> None:
    """Its rows look right after every kill that could be made; that is no pass."""

    swept = sweep_of(body)

    assert problem in swept.problems
    assert not swept.passed


def test_a_plain_file_that_it_writes_itself_is_seen(sweep_of: SweepOf) -> None:
    """Files are durable too; those that this process opens are in sight, line by line."""

    swept = sweep_of(
        """
def handler(folder):
    (folder / "note.txt").write_text("about to pay")
    return settle(folder)
""",
        points=("line", "statement"),
    )

    assert swept.passed


def test_one_without_crash_points_is_refused(sweep_of: SweepOf) -> None:
    """Zero points would pass whatever it does."""

    with pytest.raises(BadHandler, match="has no crash point that this sweep can see"):
        sweep_of("""
def handler(folder):
    return "paid"
""")


def test_one_that_is_slow_only_in_its_recovery_is_named(sweep_of: SweepOf) -> None:
    """The points whose resume hangs are timed out; after a few of them the rest is not attempted."""

    swept = sweep_of(
        """
def handler(folder):
    with closing(open_journal(folder)) as journal:
        was = journal.execute("SELECT status FROM orders").fetchone()["status"]
        if was == "sending":
            time.sleep(600)
        if was == "new":
            mark(journal, ORDER, "sending")
    return settle(folder)
""",
        deadline_s=2.0,
    )

    assert not swept.passed
    assert swept.control.passed
    assert [result.outcome for result in swept.results[:4]] == ["judged"] * 4
    slow = [result for result in swept.results if result.outcome == "timed_out"]
    assert {result.explanation for result in slow} == {"the recovery passed its deadline of 2 s"}
    assert {result.outcome for result in swept.results[4:]} <= {"timed_out", "not_attempted"}


def test_one_that_checkpoints_first_loses(sweep_of: SweepOf) -> None:
    """Between its checkpoint and its payment a crash leaves a claim without an effect."""

    swept = sweep_of("""
def handler(folder):
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        if journal.execute("SELECT status FROM orders").fetchone()["status"] == "paid":
            return "nothing to do"
        mark(journal, ORDER, "paid")
        pay(bank, "key", ORDER, 4000)
""")

    names = [(result.schedule[0].label.split()[1], result.names) for result in swept.results]
    assert names == [
        ("SELECT", ("exactly_one",)),
        ("BEGIN", ("exactly_one",)),
        ("UPDATE", ("exactly_one",)),
        ("COMMIT", ("exactly_one",)),
        ("BEGIN", ("phantom_progress",)),
        ("INSERT", ("phantom_progress",)),
        ("COMMIT", ("phantom_progress",)),
    ]


RANDOM_KEY = """
def crash_world(folder, plain=crash_world):
    plain(folder)
    with closing(open_journal(folder)) as journal, journal:
        journal.execute("CREATE TABLE keys (order_id INTEGER PRIMARY KEY, key TEXT)")

def handler(folder):
    with closing(open_journal(folder)) as journal:
        with journal:
            journal.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (ORDER, str(uuid.uuid4())))
        key = journal.execute("SELECT key FROM keys").fetchone()["key"]
    return settle(folder, key)
"""


@pytest.mark.parametrize("depth", ["1", "all"])
def test_one_that_persists_a_random_key_before_it_pays_is_right(sweep_of: SweepOf, depth: str) -> None:
    """Chance is no fault where it is written down first; depth `all` closes in spite of it."""

    swept = sweep_of(RANDOM_KEY, depth=depth)

    assert swept.passed
    assert swept.verdicts == {"exactly_one"}
    assert depth == "1" or (swept.closure is not None and swept.closure["closed"])


FINALLY = """
def handler(folder):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with closing(open_journal(folder)) as journal, closing(open_bank(folder)) as bank:
        if journal.execute("SELECT status FROM orders").fetchone()["status"] == "paid":
            return "nothing to do"
        try:
            pay(bank, "key", ORDER, 4000)
        finally:
            mark(journal, ORDER, "paid")
"""


def test_a_checkpoint_in_finally_survives_kills(sweep_of: SweepOf) -> None:
    """SIGKILL runs no `finally`: by these rows it is right."""

    assert sweep_of(FINALLY).verdicts == {"exactly_one"}


def test_a_checkpoint_in_finally_lies_after_sigterm(sweep_of: SweepOf) -> None:
    """SIGTERM unwinds the stack, and `finally` records a payment that was rolled back.

    At COMMIT the signal handler runs once the commit has returned, so there the record is true.
    """

    swept = sweep_of(FINALLY, fault="term")

    wrong = {result.schedule[0].label.split()[1] for result in swept.results if not result.passed}
    assert swept.verdicts == {"exactly_one", "phantom_progress"}
    assert wrong == {"BEGIN", "INSERT"}


def test_a_path_that_varies_from_run_to_run_is_reported(sweep_of: SweepOf) -> None:
    """It is not guessed at: two fault-free runs disagree, or later ones do not fit them.

    Each run draws a number that no other has, also of those beside it; every second one is odd.
    """

    swept = sweep_of("""
def drawn(number=1):
    try:
        (HERE / f"run-{number}").mkdir()
    except FileExistsError:
        return drawn(number + 1)
    return number

def handler(folder):
    with closing(open_journal(folder)) as journal:
        for _ in range(drawn() % 2):
            journal.execute("SELECT 1")
    return settle(folder)
""")

    flaky = [result for result in swept.results if result.outcome == "flaky"]
    assert not swept.passed
    assert (
        flaky
        or "two fault-free runs took different paths: the handler is not deterministic" in swept.problems
    )


IMPORTS = {
    "that raises": ("raise RuntimeError('no config')", "cannot be imported .*no config"),
    "that is no Python": ("def handler(:", "is no Python"),
    "that ends the process": ("os._exit(7)", r"ended the process that imported it \(7"),
    "that leaves": ("sys.exit('bye')", "ended the process that imported it"),
    "whose world cannot be made": (
        "def crash_world(folder): 1 / 0\n\ndef handler(folder): ...",
        "crash_world failed .ZeroDivisionError",
    ),
    "with an identity that is none": (
        "crash_identity = {'rank': ['epoch']}\n\ndef handler(folder): ...",
        "declares crash_identity=.* give lists of names under fencing, evidence and derived",
    ),
    "without the function": ("def other(folder): ...", "has no function `handler`"),
}


@pytest.mark.parametrize(("body", "said"), IMPORTS.values(), ids=IMPORTS.keys())
def test_a_crashing_import_is_a_clear_error(sweep_of: SweepOf, body: str, said: str) -> None:
    """It happens in a process of its own, and one line says what it was."""

    with pytest.raises(BadHandler, match=said):
        sweep_of(body)


READERS = {
    "fails": ("def crash_facts(folder): return 1 / 0", "ZeroDivisionError"),
    "finds nothing": ("def crash_facts(folder): return {}", "not a dictionary with a row for each intent"),
    "gives no number": (
        "def crash_facts(folder): return {'a': {'effects': True, 'recorded': True}}",
        "effects=True for a, not a number",
    ),
    "misspells": (
        "def crash_facts(folder): return {'a': {'effects': 1, 'recorded': True, 'done': True}}",
        "`done` for a; known are effects, recorded",
    ),
    "forgets": ("def crash_facts(folder): return {'a': {'effects': 1}}", "no `recorded` for a"),
}


@pytest.mark.parametrize(("reader", "said"), READERS.values(), ids=READERS.keys())
def test_a_reader_that_cannot_read_is_a_clear_error(sweep_of: SweepOf, reader: str, said: str) -> None:
    """What it cannot read after a fault-free run it cannot read at all."""

    with pytest.raises(BadHandler, match=said):
        sweep_of(f"""
def handler(folder):
    return settle(folder)

{reader}
""")


def test_rows_that_a_crash_makes_unreadable_are_corrupt(sweep_of: SweepOf) -> None:
    """The reader works after a fault-free run, so here it is the rows that are broken."""

    swept = sweep_of("""
def handler(folder):
    if (folder / "dirty").exists():
        (folder / "bank.sqlite3").write_bytes(b"no database any more")
        return "broken"
    (folder / "dirty").touch()
    settle(folder)
    (folder / "dirty").unlink()
""")

    assert swept.control.passed
    assert swept.verdicts == {"exactly_one", "corrupt"}
    assert "file is not a database" in swept.results[0].verdicts[0].because


def test_an_intent_that_the_rows_no_longer_show_is_no_pass(sweep_of: SweepOf) -> None:
    """A reader that lists only what it finds would hide what is missing."""

    swept = sweep_of("""
def crash_facts(folder, plain=crash_facts):
    return {name: fact for name, fact in plain(folder).items() if fact["effects"]} | {
        "other": {"effects": 1, "recorded": True}
    }

def handler(folder):
    with closing(open_journal(folder)) as journal:
        if journal.execute("SELECT status FROM orders").fetchone()["status"] != "new":
            return "given up"
        mark(journal, ORDER, "sending")
    return settle(folder)
""")

    assert swept.verdicts == {"exactly_one", "stuck"}
