"""The provider as a file: where its commit lies, and what a caller is told while another holds the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from labkit.boundaries import Boundary
from labkit.errors import BadStore, StoreLocked
from labkit.providers.file import FileProvider
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action

CHARGE = Action("charge", "order-1001", 4000, "USD")
KEY = "order-1001:charge"


@pytest.fixture
def ledgers(ledger_file: Path) -> Iterator[Callable[[], Ledger]]:
    """Opens connections to one ledger that give up soon."""
    opened: list[Ledger] = []

    def one() -> Ledger:
        opened.append(Ledger.open(ledger_file, busy_timeout_s=0.05))
        return opened[-1]

    yield one
    for ledger in opened:
        ledger.db.close()


def test_the_effect_lies_between_its_two_boundaries(ledgers: Callable[[], Ledger]) -> None:
    """At `effect.inserted` nobody else sees it, at `effect.committed` everybody does."""

    witness, seen = ledgers(), []

    def reached(boundary: Boundary) -> None:
        seen.append((boundary, witness.read(KEY, 0).status))

    FileProvider(ledgers(), 1000, reached).submit(KEY, CHARGE)

    assert seen == [(Boundary.EFFECT_INSERTED, "absent"), (Boundary.EFFECT_COMMITTED, "committed")]


def test_a_replay_and_a_refusal_announce_nothing(ledgers: Callable[[], Ledger]) -> None:
    """Nothing was inserted or committed, so there is no boundary to die at."""

    FileProvider(ledgers(), 1000).submit(KEY, CHARGE)
    provider = FileProvider(ledgers(), 2000, lambda boundary: pytest.fail(f"{boundary} was announced"))

    assert provider.submit(KEY, CHARGE).status == "already_committed"
    assert provider.submit("k", Action("charge", "order-9", 1, "USD")).status == "mandate_missing"


def test_who_dies_before_the_commit_has_changed_nothing(ledgers: Callable[[], Ledger]) -> None:
    """Effect, key, epoch and invocation stand or fall together."""

    def die(boundary: Boundary) -> None:
        raise KeyboardInterrupt(boundary)

    with pytest.raises(KeyboardInterrupt, match="inserted"):
        FileProvider(ledgers(), 1000, die).submit(KEY, CHARGE, 7)
    after = ledgers()

    assert (after.read(KEY, 0).status, after.highest_epoch("order-1001")) == ("absent", 0)
    assert after.db.execute("SELECT count(*) FROM invocations").fetchone()[0] == 0


def test_who_dies_after_the_commit_has_paid(ledgers: Callable[[], Ledger]) -> None:
    """The worker never hears of it; its owner knows."""

    def die(boundary: Boundary) -> None:
        if boundary == Boundary.EFFECT_COMMITTED:
            raise KeyboardInterrupt(boundary)

    with pytest.raises(KeyboardInterrupt, match="committed"):
        FileProvider(ledgers(), 1000, die).submit(KEY, CHARGE)

    assert ledgers().read(KEY, 0).status == "committed"


CALLS: dict[str, Callable[[FileProvider], object]] = {
    "submit": lambda provider: provider.submit(KEY, CHARGE),
    "fence": lambda provider: provider.fence("order-1001", 1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_lock_past_its_timeout_is_no_ambiguous_outcome(
    ledgers: Callable[[], Ledger], call: Callable[[FileProvider], object]
) -> None:
    """The transaction never began: certainly no effect, and the caller is told so."""

    provider = FileProvider(ledgers(), 1000)
    holder = ledgers()
    with atomic(holder.db), pytest.raises(StoreLocked) as raised:
        call(provider)

    assert raised.value.effect == "no"
    assert provider.read(KEY).status == "absent"


def test_answers_carry_the_callers_time(ledgers: Callable[[], Ledger]) -> None:
    """No clock is read below the harness."""

    provider = FileProvider(ledgers(), 4321)
    receipt = provider.submit(KEY, CHARGE).receipt

    assert receipt is not None
    assert (
        receipt.committed_at_ms, provider.read(KEY).observed_at_ms, provider.postcondition(CHARGE).observed_at_ms
    ) == (4321, 4321, 4321)  # fmt: skip


def test_another_owners_file_is_no_ledger(tmp_path: Path) -> None:
    """Typed, before anything is written."""

    path = tmp_path / "ledger.sqlite3"
    path.write_bytes(b"not a ledger")

    with pytest.raises(BadStore, match=r"ledger\.sqlite3"):
        Ledger.open(path)
