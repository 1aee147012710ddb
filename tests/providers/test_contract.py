"""What a worker may rely on, whoever answers: the same for a file, a socket and HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.providers.interface import Provider
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action, SubmitResult

CHARGE = Action("charge", "order-1001", 4000, "USD", (("memo", "first"),))
KEY = "order-1001:charge"
Client = Callable[[], Provider]


def change(path: Path, alter: Callable[[Ledger], object]) -> None:
    """What the provider's owner does to the ledger meanwhile."""
    ledger = Ledger.open(path)
    with atomic(ledger.db):
        alter(ledger)
    ledger.db.close()


def effects(path: Path) -> int:
    """How many effects stand in the ledger's file."""
    ledger = Ledger.open(path)
    count = int(ledger.db.execute("SELECT count(*) FROM effects").fetchone()[0])
    ledger.db.close()
    return count


def test_an_effect_is_committed_when_the_answer_arrives(provider: Provider, ledger_file: Path) -> None:
    """Durable in the ledger's file, with a receipt that its owner signed by digest."""

    result = provider.submit(KEY, CHARGE)

    assert (result.status, result.replayed, effects(ledger_file)) == ("committed", False, 1)
    assert result.receipt is not None
    assert result.receipt.is_intact
    assert (KEY, CHARGE.digest, "payments") == (
        result.receipt.operation_id, result.receipt.action_digest, result.receipt.ledger
    )  # fmt: skip


def test_asking_again_gives_the_original_receipt(provider: Provider, ledger_file: Path) -> None:
    """However often, and nothing new happens."""

    first = provider.submit(KEY, CHARGE)

    assert [SubmitResult("already_committed", first.receipt)] * 3 == [
        provider.submit(KEY, CHARGE) for _ in range(3)
    ]
    assert effects(ledger_file) == 1


def test_another_client_gets_the_original_receipt_too(client: Client, ledger_file: Path) -> None:
    """The successor of a worker that died is another client."""

    first = client().submit(KEY, CHARGE)
    successor = client()

    assert first.receipt == successor.read(KEY).receipt == successor.submit(KEY, CHARGE).receipt
    assert effects(ledger_file) == 1


def test_a_readback_says_absent_until_the_effect_is_there(provider: Provider) -> None:
    """Its source is named; asking changed nothing."""

    before = provider.read(KEY)
    result = provider.submit(KEY, CHARGE)
    after = provider.read(KEY)

    assert (before.status, before.receipt, before.source) == ("absent", None, "payments")
    assert ("committed", result.receipt, "payments") == (after.status, after.receipt, after.source)


def test_a_readback_changes_nothing(provider: Provider, ledger_file: Path) -> None:
    """Not a byte of the ledger."""

    provider.submit(KEY, CHARGE)
    before = ledger_file.read_bytes()
    provider.read(KEY)
    provider.read("another")
    provider.postcondition(CHARGE)

    assert before == ledger_file.read_bytes()


def test_one_id_has_one_meaning(provider: Provider, ledger_file: Path) -> None:
    """Another action under it is a conflict, and the original stands."""

    first = provider.submit(KEY, CHARGE)

    assert SubmitResult("key_conflict") == provider.submit(KEY, replace(CHARGE, amount_minor=1))
    assert (first.receipt, 1) == (provider.read(KEY).receipt, effects(ledger_file))


def test_a_takeover_is_announced_to_the_owner_of_the_effect(client: Client, ledger_file: Path) -> None:
    """The slow worker with the older epoch is refused from then on, though nobody has paid yet."""

    slow, successor = client(), client()

    assert (slow.fence("order-1001", 1), successor.fence("order-1001", 2), slow.fence("order-1001", 1)) == (
        1,
        2,
        2,
    )
    assert SubmitResult("stale_epoch") == slow.submit(KEY, CHARGE, 1)
    assert effects(ledger_file) == 0
    assert successor.submit(KEY, CHARGE, 2).status == "committed"


def test_the_slow_worker_still_learns_what_has_happened(client: Client) -> None:
    """Its own effect of before the takeover is history, and history is answered first."""

    slow, successor = client(), client()
    first = slow.submit(KEY, CHARGE, 1)
    successor.fence("order-1001", 2)

    assert SubmitResult("already_committed", first.receipt) == slow.submit(KEY, CHARGE, 1)


REFUSALS: dict[str, tuple[Callable[[Ledger], object], Action]] = {
    "mandate_missing": (
        lambda ledger: ledger.highest_epoch("order-1001"),
        replace(CHARGE, subject="order-9"),
    ),
    "mandate_revoked": (lambda ledger: ledger.revoke_mandate("order-1001", 1), CHARGE),
    "mandate_mismatch": (
        lambda ledger: ledger.highest_epoch("order-1001"),
        replace(CHARGE, amount_minor=4001),
    ),
    "budget_action_limit": (lambda ledger: [ledger.submit(None, CHARGE, 0, 1) for _ in range(3)], CHARGE),
    "stale_epoch": (lambda ledger: ledger.fence("order-1001", 1), CHARGE),
}


@pytest.mark.parametrize("status", REFUSALS)
def test_a_refusal_arrives_by_its_name_and_without_a_receipt(
    provider: Provider, ledger_file: Path, status: str
) -> None:
    """The worker can tell what would heal it; nothing has happened."""

    alter, action = REFUSALS[status]
    change(ledger_file, alter)
    before = effects(ledger_file)

    assert (status, None) == (provider.submit(KEY, action).status, provider.submit(KEY, action).receipt)
    assert ("absent", before) == (provider.read(KEY).status, effects(ledger_file))


def test_without_an_id_nothing_is_recognised(provider: Provider, ledger_file: Path) -> None:
    """Two calls, two effects: so a caller that does not know must not ask again."""

    assert [provider.submit(None, CHARGE).status for _ in range(2)] == ["committed", "committed"]
    assert effects(ledger_file) == 2


def test_the_postcondition_is_the_business_fact(provider: Provider) -> None:
    """Exactly one effect for this subject, of this amount and currency, whatever key it came under."""

    holds = [provider.postcondition(CHARGE).holds]
    provider.submit("any key", CHARGE)
    holds += [provider.postcondition(action).holds for action in (
        CHARGE, replace(CHARGE, amount_minor=1), replace(CHARGE, currency="EUR"), replace(CHARGE, kind="refund"),
        replace(CHARGE, subject="order-1002"),
    )]  # fmt: skip
    provider.submit("another key", CHARGE)
    last = provider.postcondition(CHARGE)

    assert holds == [False, True, False, False, False, False]
    assert (last.holds, last.statement, last.source) == (
        False,
        "order-1001 has 2 effect(s) of kind charge",
        "payments",
    )


def test_a_payment_says_nothing_of_another_order(provider: Provider) -> None:
    """Subjects are judged apart."""

    provider.submit(KEY, CHARGE)
    other = replace(CHARGE, subject="order-1002")

    assert provider.submit("order-1002:charge", other).status == "committed"
    assert (provider.postcondition(CHARGE).holds, provider.postcondition(other).holds) == (True, True)


def test_a_permission_can_be_looked_up_and_is_a_belief_from_then_on(
    provider: Provider, ledger_file: Path
) -> None:
    """The same words as a refusal, and no promise: only the submit asks inside the payment's own transaction."""

    looked_up = [
        provider.mandate_refusal(action)
        for action in (CHARGE, replace(CHARGE, amount_minor=1), replace(CHARGE, subject="order-9"))
    ]
    change(ledger_file, lambda ledger: ledger.revoke_mandate("order-1001", 1))

    assert looked_up == [None, "mandate_mismatch", "mandate_missing"]
    assert "mandate_revoked" == provider.mandate_refusal(CHARGE) == provider.submit(KEY, CHARGE).status
