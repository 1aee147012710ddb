"""The provider behind a socket: the same crash points as a file, and a caller's death undoes its transaction."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.errors import AmbiguousOutcome, InfrastructureError, UnknownName
from labkit.providers.file import FileProvider
from labkit.providers.served import MOST_CONNECTIONS, LedgerServer
from labkit.providers.socket import MOST_LINE_BYTES, SocketProvider, hold_each
from labkit.stores.ledger import Ledger
from labkit.values import Action

CHARGE = Action("charge", "order-1001", 4000, "USD", (("memo", "first"),))
KEY = "order-1001:charge"


@pytest.fixture
def address(ledger_file: Path) -> Iterator[Path]:
    """Where the ledger is served, at time 1000."""
    with tempfile.TemporaryDirectory() as short:
        path = Path(short) / "s"
        with LedgerServer(path, {"payments": ledger_file}, 1000):
            yield path


@pytest.fixture
def opened(address: Path) -> Iterator[Callable[..., SocketProvider]]:
    """Opens clients of that server."""
    clients: list[SocketProvider] = []

    def one(name: str = "payments", *listeners: Any) -> SocketProvider:
        clients.append(SocketProvider(address, name, *listeners))
        return clients[-1]

    yield one
    for client in clients:
        client.close()


def effects(path: Path) -> int:
    ledger = Ledger.open(path)
    count = int(ledger.db.execute("SELECT count(*) FROM effects").fetchone()[0])
    ledger.db.close()
    return count


def points_of_file(path: Path) -> list[str]:
    """What a sweep sees of a ledger as a file: SQLite's own trace, and the boundaries."""
    seen: list[str] = []
    ledger = Ledger.open(path)
    ledger.db.set_trace_callback(lambda sql: seen.append(sql.split()[0]) if sql[0] != "-" else None)
    every_call(FileProvider(ledger, 1000, lambda boundary: seen.append(boundary.value)))
    ledger.db.close()
    return seen


def every_call(provider: Any) -> None:
    provider.read(KEY)
    provider.fence("order-1001", 1)
    provider.submit(KEY, CHARGE, 1)
    provider.submit(KEY, CHARGE, 1)
    provider.submit("other", Action("charge", "order-9", 1, "USD"))
    provider.mandate_refusal(CHARGE)
    provider.postcondition(CHARGE)
    provider.read(KEY)


def test_the_crash_points_are_those_of_the_file(
    ledger_file: Path, tmp_path: Path, opened: Callable[..., SocketProvider]
) -> None:
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes(ledger_file.read_bytes())
    seen: list[str] = []

    every_call(opened("payments", lambda boundary: seen.append(boundary.value), seen.append))

    assert seen == points_of_file(copy)
    assert {"BEGIN", "INSERT", "effect.inserted", "COMMIT", "effect.committed", "SELECT"} <= set(seen)


def test_points_that_nothing_happens_at_are_told_together_and_in_order(
    address: Path, ledger_file: Path, tmp_path: Path
) -> None:
    """However many of them: what is left is waited at, one by one."""
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes(ledger_file.read_bytes())
    fresh, expected = ledger_file.read_bytes(), points_of_file(copy)
    for free in (0, 1, 3, 5000):
        ledger_file.write_bytes(fresh)
        seen: list[str] = []
        listener: Any = lambda name, seen=seen: seen.append(getattr(name, "value", name))  # noqa: E731
        client = SocketProvider(address, "payments", listener, listener, lambda free=free: free)
        every_call(client)
        client.close()
        assert seen == expected


@pytest.mark.parametrize("free", [0, 5000])
def test_a_call_that_is_broken_off_leaves_no_answer_for_the_next(address: Path, free: int) -> None:
    """By a timeout of the caller's own, say: the server may have told all by then, its answer too."""
    broken = False

    def once(_verb: str) -> None:
        nonlocal broken
        if not broken:
            broken = True
            raise TimeoutError

    client = SocketProvider(address, "payments", statement=once, free=lambda: free)
    with pytest.raises(TimeoutError):
        client.mandate_refusal(CHARGE)

    assert client.read(KEY).status == "absent"
    assert client.submit(KEY, CHARGE).status == "committed"
    client.close()


def test_what_a_caller_says_it_need_not_hear_in_time_is_a_number(address: Path) -> None:
    """Anything else is no call."""
    with socket.socket(socket.AF_UNIX) as caller, caller.makefile("rb") as answers:
        caller.connect(str(address))
        for free in ("9", None, 1.5, True, 2**70):
            asked = {"ledger": "payments", "call": "read", "arguments": [KEY], "free": free}
            caller.sendall(json.dumps(asked).encode() + b"\n")
            assert json.loads(answers.readline())["error"] == "BadAction"


def die_at(address: Path, number: int, ahead: bool) -> int:
    """A process that pays and kills itself at its `number`th point; returns how it ended.

    `ahead` has the server not wait for it before that point.
    """
    pid = os.fork()
    if pid == 0:
        passed = 0

        def point(_name: object) -> None:
            nonlocal passed
            passed += 1
            if passed == number:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            free = (lambda: number - passed - 1) if ahead else hold_each
            SocketProvider(address, "payments", point, point, free).submit(KEY, CHARGE)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("ahead", [False, True])
def test_a_death_before_the_commit_undoes_everything_and_after_it_nothing(
    ledger_file: Path, ahead: bool
) -> None:
    """At every single point, with real kills."""
    fresh = ledger_file.read_bytes()
    names: list[str] = []
    left: list[int] = []
    with tempfile.TemporaryDirectory() as short:
        for number in range(1, 100):
            ledger_file.write_bytes(fresh)
            with LedgerServer(Path(short) / "s", {"payments": ledger_file}, 1000):
                how = die_at(Path(short) / "s", number, ahead)
            if how == 0:
                break
            assert how == -signal.SIGKILL
            left.append(effects(ledger_file))
    ledger_file.write_bytes(fresh)
    ledger = Ledger.open(ledger_file)
    ledger.db.set_trace_callback(lambda sql: names.append(sql.split()[0]))
    FileProvider(ledger, 1000, lambda boundary: names.append(boundary.value)).submit(KEY, CHARGE)
    ledger.db.close()

    assert len(left) == len(names)
    assert left == [0] * (len(names) - 1) + [1]
    assert names[-2:] == ["COMMIT", "effect.committed"]


def test_a_server_that_goes_away_leaves_the_outcome_unknown(ledger_file: Path) -> None:
    with tempfile.TemporaryDirectory() as short:
        server = LedgerServer(Path(short) / "s", {"payments": ledger_file}, 1000)

        def gone(boundary: Boundary) -> None:
            if boundary == Boundary.EFFECT_COMMITTED:
                server.close()

        with pytest.raises(AmbiguousOutcome, match="no reply to `submit`"):
            SocketProvider(Path(short) / "s", "payments", gone).submit(KEY, CHARGE)
        with pytest.raises(InfrastructureError, match="cannot be reached"):
            SocketProvider(Path(short) / "s", "payments").read(KEY)

    assert effects(ledger_file) == 1


def test_errors_arrive_as_themselves(opened: Callable[..., SocketProvider]) -> None:
    with pytest.raises(UnknownName, match="messages is not in this world"):
        opened("messages").read(KEY)


NOISE: dict[str, Any] = {
    "no JSON": b"hello\n",
    "a number": b"7\n",
    "deep": b"[" * 100_000 + b"\n",
    "an unknown call": {"ledger": "payments", "call": "__init__", "arguments": []},
    "too few": {"ledger": "payments", "call": "submit", "arguments": []},
    "an epoch as text": {"ledger": "payments", "call": "fence", "arguments": ["order-1001", "9"]},
    "a huge epoch": {"ledger": "payments", "call": "fence", "arguments": ["order-1001", 2**70]},
    "a true epoch": {"ledger": "payments", "call": "fence", "arguments": ["order-1001", True]},
    "half a character": {"ledger": "payments", "call": "read", "arguments": ["\ud800"]},
    "no action": {"ledger": "payments", "call": "submit", "arguments": [KEY, 7, 0]},
    "a negative amount": {
        "ledger": "payments",
        "call": "submit",
        "arguments": [
            KEY,
            {"kind": "charge", "subject": "order-1001", "amount_minor": -1, "currency": "USD"},
            0,
        ],
    },
    "no such ledger": {"ledger": [], "call": "read", "arguments": [KEY]},
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_noise_changes_nothing_and_ends_nothing(
    address: Path, ledger_file: Path, noise: Any, opened: Callable[..., SocketProvider]
) -> None:
    line = noise if isinstance(noise, bytes) else json.dumps(noise).encode() + b"\n"
    before = ledger_file.read_bytes()
    with socket.socket(socket.AF_UNIX) as caller, caller.makefile("rb") as answers:
        caller.connect(str(address))
        caller.sendall(line)
        answer = json.loads(answers.readline())
        assert "error" in answer

    assert ledger_file.read_bytes() == before
    assert opened().read(KEY).status == "absent"


def test_a_line_without_end_is_cut_off(address: Path, opened: Callable[..., SocketProvider]) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(address))
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            caller.sendall(b"x" * (100 * MOST_LINE_BYTES))

    assert opened().read(KEY).status == "absent"


def test_too_many_callers_are_turned_away(opened: Callable[..., SocketProvider]) -> None:
    for _ in range(MOST_CONNECTIONS):
        opened().read(KEY)

    with pytest.raises((AmbiguousOutcome, InfrastructureError)):
        opened().read(KEY)


def test_the_time_is_the_servers(opened: Callable[..., SocketProvider]) -> None:
    receipt = opened().submit(KEY, CHARGE).receipt

    assert receipt is not None
    assert receipt.committed_at_ms == 1000
