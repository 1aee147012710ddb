"""`lab workflow` as processes of its own: exit codes, the three stores, and what is left of bad input."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.ui.cli import main

ROOT = Path(__file__).parents[2]
CHARGE = {"kind": "charge", "subject": "order-42", "amount_minor": 4000, "currency": "USD"}
STORES = ("journal", "ledger", "authority")

# A worker that stops inside a run, with the lock and whatever else it holds, until it is told to go on.
HOLDER = """
import sys
from pathlib import Path
from labkit.harness import workflow_folder
from labkit.protocol import flow
from dataclasses import replace
def stop(boundary):
    if boundary == sys.argv[2]:
        print("STOPPED", flush=True)
        sys.stdin.readline()
with workflow_folder.driven(Path(sys.argv[1])) as session:
    session.parties.provider.reached = stop
    flow.run(replace(session.parties, reached=stop), session.operation("order-42"))
"""


@dataclass(frozen=True)
class Done:
    """One finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Lab:
    """`lab workflow` in a folder, with the action of most tests.

    A command is a process of its own, or (`in_process`, where nothing dies and nobody waits) a call of
    the same `main`, a tenth as long.
    """

    folder: Path
    in_process: bool = False

    def __call__(self, *words: object, preamble: str = "") -> Done:
        """Run one command; `preamble` is Python that runs first in its process."""
        arguments = ["workflow", *map(str, words)]
        if self.in_process and not preamble:
            out, err = io.StringIO(), io.StringIO()
            with chdir(self.folder), redirect_stdout(out), redirect_stderr(err):
                code = main(arguments)
            return Done(code, out.getvalue(), err.getvalue())
        program = f"import sys; {preamble}\nfrom labkit.ui.cli import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, action: object) -> Path:
        """An action file: JSON of a value, or the very bytes."""
        path = self.folder / name
        path.write_bytes(action if isinstance(action, bytes) else json.dumps(action).encode())
        return path

    def create(self, *more: str) -> Done:
        """The workflow of most tests."""
        return self("create", "charge.json", "--key", "order-42", "--json", *more)

    def approved(self, *more: str) -> Lab:
        """That workflow, approved."""
        assert self.create(*more).code == 0
        assert self("approve", "order-42", "--actor", "alice").code == 0
        return self

    def resume(self, *more: str) -> Done:
        """One resume."""
        return self("resume", "order-42", "--json", *more)

    def rows(self, store: str, sql: str) -> list[Any]:
        """Rows of one store, read apart from labkit."""
        path = self.folder / "workflow" / f"{store}.sqlite3"
        with closing(sqlite3.connect(path)) as db:
            return db.execute(sql).fetchall()

    @property
    def effects(self) -> int:
        """How often the order was charged."""
        return int(self.rows("ledger", "SELECT count(*) FROM effects")[0][0])

    @property
    def dump(self) -> list[str]:
        """Every row of every store."""
        found = []
        for store in STORES:
            with closing(sqlite3.connect(self.folder / "workflow" / f"{store}.sqlite3")) as db:
                found += list(db.iterdump())
        return found

    @property
    def files(self) -> dict[str, bytes]:
        """Every file's content, by its place; the lock file holds nothing and is left out."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.suffix != ".lock"
        }


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A folder with an action and no workflow; commands run in this process."""
    lab = Lab(tmp_path, in_process=True)
    lab.write("charge.json", CHARGE)
    return lab


@pytest.fixture
def processes(lab: Lab) -> Lab:
    """The same, and every command is a process of its own."""
    return Lab(lab.folder)


def one_line(done: Done, code: int, *named: str) -> None:
    """Whether a command ended with this code and one line on stderr that names these things."""
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1), done
    assert [name for name in named if name not in done.err] == []
    assert "Traceback" not in done.err


# --- the flow ---------------------------------------------------------------------------------


def test_the_flow_from_the_retained_action(tmp_path: Path) -> None:
    """Create, approve, resume, timeline, with the action that comes with the project."""

    lab = Lab(tmp_path)
    created = lab("create", ROOT / "data/actions/charge.json", "--key", "order-42", "--json")
    approved = lab("approve", "order-42", "--actor", "alice", "--json")
    resumed = lab("resume", "order-42", "--json")
    timeline = lab("timeline", "order-42", "--json")

    assert [done.code for done in (created, approved, resumed, timeline)] == [0, 0, 0, 0]
    assert created.json["state"] == "pending_approval"
    assert approved.json["authority"]["approval"]["action_digest"] == created.json["action_digest"]
    assert (resumed.json["phase"], resumed.json["effect"]["receipt"]["operation_id"]) == (
        "COMPLETE",
        "order-42",
    )
    assert lab.effects == 1
    assert [event["kind"] for event in timeline.json["events"]] == [
        "begun", "intended", "approval_bound", "approved", "claimed", "moved", "moved", "moved", "moved", "checkpointed",
    ]  # fmt: skip


def test_tables_are_for_people(lab: Lab) -> None:
    """Without --json the same things stand in tables."""

    lab.create()

    assert "pending_approval" in lab("show", "order-42").out
    assert "intended" in lab("timeline", "order-42").out


def test_replacing_the_action_waits_for_approval_again(lab: Lab) -> None:
    """Nothing is paid on an approval of other bytes."""

    lab.approved()
    lab.write("cheaper.json", {**CHARGE, "amount_minor": 3999})
    replaced = lab("replace", "order-42", "cheaper.json", "--json")

    assert (replaced.code, replaced.json["state"]) == (0, "pending_approval")
    one_line(lab.resume(), 2, "pending_approval", "lab workflow approve order-42")
    assert lab.effects == 0


def test_approving_other_bytes_than_one_saw_is_refused(lab: Lab) -> None:
    """The digest that was looked at is part of the decision."""

    seen = lab.create().json["action_digest"]
    lab.write("cheaper.json", {**CHARGE, "amount_minor": 3999})
    lab("replace", "order-42", "cheaper.json")

    one_line(lab("approve", "order-42", "--actor", "alice", "--digest", seen), 2, "order-42", "is now")


CRASHES = [
    "intent.recorded",
    "admission.recorded",
    "dispatch.recorded",
    "effect.inserted",
    "effect.committed",
    "effect.acknowledged",
    "checkpoint.recorded",
]


@pytest.mark.parametrize("boundary", CRASHES)
def test_a_crash_at_any_boundary_is_resumed_to_one_effect(lab: Lab, processes: Lab, boundary: str) -> None:
    """The process leaves by 86 with the lock in its hand; the next one gets the lock, and finishes."""

    lab.approved()
    crashed = processes.resume("--crash-at", boundary)

    assert (crashed.code, crashed.out) == (86, "")
    assert boundary in crashed.err
    assert lab.effects == int(CRASHES.index(boundary) >= CRASHES.index("effect.committed"))
    resumed = processes.resume()
    assert (resumed.code, resumed.json["phase"], lab.effects) == (0, "COMPLETE", 1)
    assert lab.resume().code == 0
    assert lab.rows("journal", "SELECT count(*) FROM checkpoints") == [(1,)]


def test_a_boundary_that_was_not_reached_is_said(lab: Lab) -> None:
    """A crash that did not happen is not passed off as one."""

    done = lab.approved().resume("--crash-at", "resume.claimed")

    assert (done.code, done.json["phase"]) == (1, "COMPLETE")
    assert "resume.claimed was not reached" in done.err


def test_known_failures_are_capped_for_good(lab: Lab, processes: Lab) -> None:
    """Three tries, the first one counted, over as many processes; then no call is made any more."""

    lab.approved()
    failing = [processes.resume("--fail", "known") for _ in range(3)]
    after = processes.resume()

    assert [(done.code, done.json["state"], done.json["retries"]) for done in (*failing, after)] == [
        (1, "ADMITTED", 1),
        (1, "ADMITTED", 2),
        (1, "ABANDONED", 3),
        (1, "ABANDONED", 3),
    ]
    assert lab.effects == 0


@pytest.mark.parametrize(("failure", "effects"), [("lost_request", 0), ("lost_reply", 1)])
def test_an_ambiguous_failure_consumes_no_try_and_is_settled_by_a_readback(
    lab: Lab, failure: str, effects: int
) -> None:
    """Two worlds, one answer to the caller; the owner knows which."""

    doubtful = lab.approved().resume("--fail", failure)

    assert (doubtful.code, doubtful.json["state"], doubtful.json["retries"]) == (1, "UNKNOWN_OUTCOME", 0)
    assert lab.effects == effects
    assert lab.resume().json["phase"] == "COMPLETE"
    assert lab.effects == 1


def test_reconciling_twice_keeps_the_first_answer(lab: Lab) -> None:
    """A provider that cannot be asked; two people who disagree."""

    lab.approved("--non-idempotent").resume("--fail", "lost_reply")
    assert lab.resume().json["state"] == "UNKNOWN_OUTCOME"

    first = lab("reconcile", "order-42", "confirmed_applied", "--actor", "bob", "--json")
    again = lab("reconcile", "order-42", "confirmed_applied", "--actor", "bob", "--json")
    second = lab("reconcile", "order-42", "confirmed_not_applied", "--actor", "carol")

    assert (first.code, again.code) == (0, 0)
    one_line(second, 2, "bob", "confirmed_applied", "order-42")
    assert lab("show", "order-42", "--json").json["disposition"]["actor"] == "bob"
    kinds = [
        (e["kind"], e["body"].get("actor")) for e in lab("timeline", "order-42", "--json").json["events"]
    ]
    assert [kind for kind in kinds if kind[0].startswith("reconcile")] == [
        ("reconciled", "bob"),
        ("reconcile_refused", "carol"),
    ]
    assert (lab.resume().json["phase"], lab.effects) == ("COMPLETE", 1)


def test_a_damaged_receipt_stops_for_reconciliation(lab: Lab, processes: Lab) -> None:
    """The owner's row was changed after the crash: no checkpoint rests on it."""

    lab.approved()
    processes.resume("--crash-at", "effect.committed")
    with closing(sqlite3.connect(lab.folder / "workflow/ledger.sqlite3")) as db, db:
        db.execute("UPDATE effects SET amount_minor = 4001")

    stopped = lab.resume()
    assert (stopped.code, stopped.json["state"], stopped.json["checkpointed"]) == (
        1,
        "UNKNOWN_OUTCOME",
        False,
    )


def test_an_approval_that_expired_before_the_run_is_renewed(lab: Lab) -> None:
    """It was good until the millisecond in which it was given."""

    lab.create()
    lab("approve", "order-42", "--actor", "alice", "--valid-for", "0")
    late = lab.resume()

    assert (late.code, late.json["state"], lab.effects) == (1, "NEEDS_REAUTHORISATION", 0)
    assert lab("approve", "order-42", "--actor", "alice").code == 0
    assert (lab.resume().code, lab.effects) == (0, 1)


def test_the_provider_has_its_own_say(lab: Lab) -> None:
    """Approved, and not permitted by the provider; the second approval brings the mandate along."""

    lab.create()
    lab("approve", "order-42", "--actor", "alice", "--no-mandate")
    refused = lab.resume()
    lab("approve", "order-42", "--actor", "bob")

    assert (refused.code, refused.json["state"]) == (1, "NEEDS_REAUTHORISATION")
    assert (lab.resume().code, lab.effects) == (0, 1)


def test_workflows_share_a_folder(lab: Lab) -> None:
    """Another key in the same folder, after the first one's epochs have risen."""

    lab.approved().resume()
    lab.resume()
    lab.write("other.json", {**CHARGE, "subject": "order-43"})

    assert lab("create", "other.json", "--key", "order-43").code == 0
    assert lab("approve", "order-43", "--actor", "alice").code == 0
    assert lab("resume", "order-43").code == 0
    assert lab.effects == 2


def test_the_four_scenarios_are_printed_as_json(lab: Lab) -> None:
    """Exactly the four, and no folder is made for them."""

    done = lab("scenarios")

    assert done.code == 0
    assert [list(result.values()) for result in done.json.values()] == [
        [2, "COMPLETE"],
        [1, "consumed", "COMPLETE"],
        [0, "approval has expired", "NEEDS_REAUTHORISATION"],
        [1, 1],
    ]
    assert not (lab.folder / "workflow").exists()


# --- the lock ---------------------------------------------------------------------------------


@contextmanager
def stopped_worker(lab: Lab, boundary: str) -> Iterator[subprocess.Popen[str]]:
    """A real worker that is inside its run, at a boundary, until the block ends or kills it."""
    worker = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lab.folder / "workflow"), boundary],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdout is not None
    try:
        assert worker.stdout.readline() == "STOPPED\n"
        yield worker
    finally:
        worker.kill()
        worker.communicate(timeout=60)


@pytest.mark.parametrize(
    "boundary", ["intent.recorded", "dispatch.recorded", "effect.committed", "effect.acknowledged"]
)
def test_the_lock_spans_claim_call_and_acknowledgement(lab: Lab, processes: Lab, boundary: str) -> None:
    """Whoever comes meanwhile waits, and gives up with exit 3; the death of the worker frees it."""

    lab.approved()
    with stopped_worker(lab, boundary) as worker:
        before = lab.dump
        one_line(processes.resume("--lock-timeout", "0.1"), 3, "journal.sqlite3.lock", "0.1 s")
        assert lab("show", "order-42", "--json").code == 0  # looking needs no lock
        assert lab.dump == before
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(60)

    assert (lab.resume().code, lab.effects) == (0, 1)


def test_a_stopped_process_keeps_the_lock(lab: Lab) -> None:
    """SIGSTOP is not death; that is what epochs are for."""

    lab.approved()
    with stopped_worker(lab, "dispatch.recorded") as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        assert lab.resume("--lock-timeout", "0.1").code == 3
        os.kill(worker.pid, signal.SIGCONT)
        worker.communicate("go on\n", timeout=60)
        assert worker.returncode == 0

    assert lab.effects == 1


def test_many_at_once_pay_once(lab: Lab) -> None:
    """Four processes resume one workflow: one effect, one checkpoint, and nobody fails."""

    lab.approved()
    code = "import sys; from labkit.ui.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "workflow", "resume", "order-42", "--lock-timeout", "50"]
    workers = [
        subprocess.Popen(words, cwd=lab.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    ends = [(worker.communicate(timeout=60)[1], worker.returncode) for worker in workers]

    assert ends == [(b"", 0)] * 4
    assert (lab.effects, lab.rows("journal", "SELECT count(*) FROM checkpoints")) == (1, [(1,)])


# --- bad input --------------------------------------------------------------------------------

BAD_ACTIONS: dict[str, tuple[object, str]] = {
    "not JSON": (b"kind: charge", "not one JSON object"),
    "empty": (b"", "not one JSON object"),
    "not UTF-8": (b'{"kind": "\xff"}', "not one JSON object"),
    "a list": ([CHARGE], "not a JSON object"),
    "nested without end": (b"[" * 100_000, "not one JSON object"),
    "lacks kind": ({k: v for k, v in CHARGE.items() if k != "kind"}, "`kind`"),
    "lacks subject": ({k: v for k, v in CHARGE.items() if k != "subject"}, "`subject`"),
    "lacks amount": ({k: v for k, v in CHARGE.items() if k != "amount_minor"}, "`amount_minor`"),
    "lacks currency": ({k: v for k, v in CHARGE.items() if k != "currency"}, "`currency`"),
    "a float amount": ({**CHARGE, "amount_minor": 40.0}, "40.0"),
    "a boolean amount": ({**CHARGE, "amount_minor": True}, "True"),
    "a text amount": ({**CHARGE, "amount_minor": "4000"}, "'4000'"),
    "a negative amount": ({**CHARGE, "amount_minor": -1}, "-1"),
    "an inexact amount": ({**CHARGE, "amount_minor": 2**53}, "2^53-1"),
    "NaN": (json.dumps({**CHARGE, "amount_minor": float("nan")}).encode(), "NaN"),
    "a lower-case currency": ({**CHARGE, "currency": "usd"}, "'usd'"),
    "an unknown field": ({**CHARGE, "tip": 1}, "`tip`"),
    "a field twice": (b'{"kind": "charge", "kind": "refund"}', "`kind` stands twice"),
    "an empty subject": ({**CHARGE, "subject": " "}, "`subject`"),
    "details that are no text": ({**CHARGE, "details": {"note": 1}}, "`details`"),
    "half a character": (
        b'{"kind":"charge","subject":"\\ud800","amount_minor":1,"currency":"USD"}',
        "ud800",
    ),
}


@pytest.mark.parametrize(("content", "named"), BAD_ACTIONS.values(), ids=BAD_ACTIONS.keys())
def test_an_action_that_is_none_creates_nothing(lab: Lab, content: object, named: str) -> None:
    """One line that names the file and what is wrong with it; no folder, no store."""

    lab.write("bad.json", content)
    before = lab.files

    one_line(lab("create", "bad.json", "--key", "order-42"), 2, "bad.json", named)
    assert lab.files == before
    assert not (lab.folder / "workflow").exists()


@pytest.mark.parametrize("name", ["nowhere.json", "."])
def test_an_action_file_that_cannot_be_read_is_named(lab: Lab, name: str) -> None:
    """Missing, or a folder."""

    one_line(lab("create", name, "--key", "order-42"), 2, "action file", name)
    assert not (lab.folder / "workflow").exists()


def test_a_bad_replacement_changes_nothing(lab: Lab) -> None:
    """The action and its approval stay."""

    lab.approved()
    lab.write("bad.json", {**CHARGE, "currency": "usd"})
    before = lab.files

    one_line(lab("replace", "order-42", "bad.json"), 2, "bad.json", "'usd'")
    assert lab.files == before


WRONG_USE: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown workflow, resume": (("resume", "order-7"), "order-7"),
    "unknown workflow, show": (("show", "order-7"), "order-7"),
    "unknown workflow, timeline": (("timeline", "order-7"), "order-7"),
    "unknown workflow, approve": (("approve", "order-7", "--actor", "a"), "order-7"),
    "unknown workflow, replace": (("replace", "order-7", "charge.json"), "order-7"),
    "unknown workflow, reconcile": (("reconcile", "order-7", "confirmed_applied", "--actor", "a"), "order-7"),
    "a key that exists": (("create", "charge.json", "--key", "order-42"), "order-42"),
    "no key": (("create", "charge.json"), "--key"),
    "an empty key": (("create", "charge.json", "--key", ""), "--key"),
    "a key with a line break": (("create", "charge.json", "--key", "a\nb"), "--key"),
    "no tries": (("create", "charge.json", "--key", "b", "--max-retries", "0"), "--max-retries is 0"),
    "no actor": (("approve", "order-42"), "--actor"),
    "a blank actor": (("approve", "order-42", "--actor", " "), "--actor"),
    "an expiry in the past": (
        ("approve", "order-42", "--actor", "a", "--valid-for", "-1"),
        "--valid-for is -1",
    ),
    "another answer": (("reconcile", "order-42", "perhaps", "--actor", "a"), "perhaps"),
    "another boundary": (("resume", "order-42", "--crash-at", "later"), "later"),
    "another failure": (("resume", "order-42", "--fail", "badly"), "badly"),
    "a timeout before now": (("resume", "order-42", "--lock-timeout", "-1"), "timeout"),
    "a timeout without end": (("resume", "order-42", "--lock-timeout", "nan"), "timeout"),
    "another option": (("show", "order-42", "--loud"), "--loud"),
}


def test_exit_codes_are_those_of_the_process(lab: Lab, processes: Lab) -> None:
    """Bad input, a workflow that nobody knows, a wrong option: 2, and nothing on stdout."""

    lab.create()
    lab.write("bad.json", {**CHARGE, "amount_minor": 40.0})
    before = lab.files

    one_line(processes("create", "bad.json", "--key", "order-43"), 2, "bad.json", "40.0")
    one_line(processes("resume", "order-7"), 2, "order-7")
    one_line(processes("resume", "order-42", "--fail", "badly"), 2, "badly")
    one_line(processes.resume(), 2, "pending_approval")
    assert {name: lab.files[name] for name in before if "journal" not in name} == {
        name: content for name, content in before.items() if "journal" not in name
    }


@pytest.mark.parametrize(("words", "named"), WRONG_USE.values(), ids=WRONG_USE.keys())
def test_wrong_use_is_one_line_and_changes_nothing(lab: Lab, words: tuple[str, ...], named: str) -> None:
    """Exit 2, and every byte of every store stays."""

    lab.create()
    before = lab.files

    one_line(lab(*words), 2, named)
    assert lab.files == before


def test_reconciling_what_is_not_unknown_is_refused_and_on_record(lab: Lab) -> None:
    """Nothing moves; the timeline shows who tried."""

    lab.create()

    one_line(
        lab("reconcile", "order-42", "confirmed_applied", "--actor", "bob"), 2, "order-42", "NOT_ADMITTED"
    )
    assert lab("timeline", "order-42", "--json").json["events"][-1]["kind"] == "move_refused"
    assert lab("show", "order-42", "--json").json["state"] == "pending_approval"


def empty(path: Path) -> None:
    """Nothing in it."""
    path.write_bytes(b"")


def truncate(path: Path) -> None:
    """Cut in the middle of a page."""
    path.write_bytes(path.read_bytes()[:5000])


def not_sqlite(path: Path) -> None:
    """Another file's content."""
    path.write_bytes(b"not a database, " * 1000)


def of_another(path: Path) -> None:
    """A store, but its neighbour's."""
    other = "authority" if path.stem == "ledger" else "ledger"
    path.write_bytes(path.with_name(f"{other}.sqlite3").read_bytes())


def of_tomorrow(path: Path) -> None:
    """A schema that this labkit does not know."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


def remove(path: Path) -> None:
    """Not there."""
    path.unlink()


DAMAGE = [empty, truncate, not_sqlite, of_another, of_tomorrow, remove]
COMMANDS: dict[str, tuple[str, ...]] = {
    "resume": ("resume", "order-42"),
    "show": ("show", "order-42"),
    "create": ("create", "charge.json", "--key", "order-43"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("store", STORES)
def test_a_damaged_store_is_named_and_nothing_is_touched(
    lab: Lab, store: str, damage: Callable[[Path], None]
) -> None:
    """It is never recreated over evidence, and its sound neighbours are not written either."""

    lab.approved()
    damage(lab.folder / "workflow" / f"{store}.sqlite3")
    before = lab.files

    for words in COMMANDS.values():
        done = lab(*words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert store in done.err or damage is remove
    assert lab.files == before


def test_a_folder_that_holds_something_else_is_left_alone(lab: Lab) -> None:
    """No store is made among other people's files."""

    (lab.folder / "workflow").mkdir()
    (lab.folder / "workflow" / "notes.txt").write_text("mine")
    before = lab.files

    one_line(lab.create(), 2, "workflow")
    assert lab.files == before
    assert sorted(path.name for path in lab.folder.iterdir()) == ["charge.json", "workflow"]


def test_a_folder_where_nothing_was_created_is_said(lab: Lab) -> None:
    """Neither resume nor show makes one."""

    for words in (("resume", "order-42"), ("show", "order-42"), ("timeline", "order-42")):
        one_line(lab(*words), 2, "journal.sqlite3", "missing")
    assert not (lab.folder / "workflow").exists()


# Another user may not be able to read this interpreter's modules, so what is imported late is imported before.
AS_SOMEBODY_ELSE = (
    "import os, labkit.ui.cli, labkit.harness.workflow_folder, labkit.harness.action_files, labkit.protocol.flow,"
    " labkit.protocol.views, labkit.ui.workflow_tables, labkit.values;"
    " labkit.values.Action('charge', 'order-1').digest;"
    " labkit.ui.cli.main(['workflow', 'show', 'nobody', '--dir', 'nowhere']);"
    " os.getuid() == 0 and (os.setgroups([]), os.setgid(65534), os.setuid(65534))"
)


@pytest.mark.parametrize("store", STORES)
def test_a_read_only_store_is_named_before_anything_is_written(lab: Lab, store: str) -> None:
    """As somebody who may not write it: root may write anything."""

    lab.approved()
    for path in (lab.folder, *lab.folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (lab.folder / "workflow" / f"{store}.sqlite3").chmod(0o444)
    open_to_all(lab.folder)
    before = lab.files

    done = lab("resume", "order-42", preamble=AS_SOMEBODY_ELSE)

    assert (done.code, done.out) == (2, "")
    assert f"{store}.sqlite3 or its folder is read-only for you" in done.err.splitlines()[-1]
    assert lab.files == before


def open_to_all(folder: Path) -> None:
    """Let others pass through the folders above, as pytest makes them private."""
    for parent in folder.parents:
        if parent.owner() == folder.owner() and parent != parent.parent and "pytest" in str(parent):
            parent.chmod(0o755)


def test_a_read_only_folder_is_named(lab: Lab) -> None:
    """Neither a workflow's folder nor its lock can be made in it."""

    lab.folder.chmod(0o555)
    open_to_all(lab.folder)
    done = lab("create", "charge.json", "--key", "order-42", preamble=AS_SOMEBODY_ELSE)
    lab.folder.chmod(0o755)

    assert (done.code, done.out) == (2, "")
    assert "read-only for you" in done.err.splitlines()[-1]
    assert not (lab.folder / "workflow").exists()


def test_a_full_disk_is_the_machines_fault_and_changes_no_row(lab: Lab) -> None:
    """No file may grow: exit 3, and the rows are as before."""

    lab.create()
    before = lab.dump

    done = lab(
        "approve", "order-42", "--actor", "alice",
        preamble="import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))",
    )  # fmt: skip

    one_line(done, 3, "authority.sqlite3", "free disk space")
    assert lab.dump == before
