"""Every kind of provider, opened over one ledger file, for the contract that they all keep.

A new kind (a socket, HTTP) is one more function here, and the whole of test_contract.py holds for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from labkit.providers.file import FileProvider
from labkit.providers.interface import Provider
from labkit.providers.served import LedgerServer
from labkit.providers.socket import SocketProvider
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import BudgetPolicy, Mandate

NOW_MS = 1000


@contextmanager
def file_provider(path: Path) -> Iterator[Provider]:
    """The ledger opened by the process that calls it."""
    ledger = Ledger.open(path)
    yield FileProvider(ledger, NOW_MS)
    ledger.db.close()


@contextmanager
def socket_provider(path: Path) -> Iterator[Provider]:
    """The ledger served by another thread behind a Unix socket; each client has a server of its own."""
    with tempfile.TemporaryDirectory() as short:  # a socket's address has at most about 100 bytes
        address = Path(short) / "ledger.socket"
        with LedgerServer(address, {"payments": path}, NOW_MS):
            provider = SocketProvider(address, "payments")
            yield provider
            provider.close()


PROVIDERS: dict[str, Callable[[Path], AbstractContextManager[Provider]]] = {
    "file": file_provider,
    "socket": socket_provider,
}


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    """A ledger that permits one charge of order-1001, and one of order-1002, and has room for three effects."""
    path = tmp_path / "ledger.sqlite3"
    ledger = Ledger.create(path, budget=BudgetPolicy(3, (("USD", 12_000),)))
    with atomic(ledger.db):
        ledger.grant_mandate(Mandate("order-1001", 4000, "USD"), 0)
        ledger.grant_mandate(Mandate("order-1002", 4000, "USD"), 0)
    ledger.db.close()
    return path


@pytest.fixture(params=PROVIDERS)
def client(request: pytest.FixtureRequest, ledger_file: Path) -> Iterator[Callable[[], Provider]]:
    """Opens one more client of the same ledger, over each kind of provider in turn."""
    with ExitStack() as clients:
        yield lambda: clients.enter_context(PROVIDERS[request.param](ledger_file))


@pytest.fixture
def provider(client: Callable[[], Provider]) -> Provider:
    """One client."""
    return client()
