"""Frozen values: what one layer hands another cannot be changed on the way."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from typing import get_args

import pytest

from labkit import observations, values
from labkit.protocol import recovery
from labkit.values import Action, Receipt, SubmitResult, receipt_digest

RECEIPT = Receipt(
    "payments", 1, "order-1001:charge", "d" * 64, "charge", "order-1001", 4000, "USD", 0, 1000, ""
)
SEALED = dataclasses.replace(RECEIPT, digest=receipt_digest(dataclasses.asdict(RECEIPT)))
OTHERS = {
    "ledger": "messages", "effect_id": 2, "operation_id": None, "action_digest": "e" * 64, "kind": "refund",
    "subject": "order-1002", "amount_minor": 4001, "currency": "EUR", "epoch": 1, "committed_at_ms": 1001,
}  # fmt: skip


def classes() -> list[type]:
    """Every value class that crosses a border."""
    found = [
        value
        for module in (values, observations)
        for value in vars(module).values()
        if inspect.isclass(value)
    ]
    return [value for value in dict.fromkeys(found) if value.__module__.startswith("labkit.")]


@pytest.mark.parametrize("value", classes(), ids=lambda value: value.__name__)
def test_every_value_is_frozen(value: type) -> None:
    """A value that was checked stays as it was checked."""

    assert dataclasses.is_dataclass(value)
    assert value.__dataclass_params__.frozen


def test_there_are_values_to_check() -> None:
    """A renamed module must not turn the test above into a pass."""

    assert {Action, Receipt, observations.Observation} <= set(classes())


def test_a_value_survives_a_process_border() -> None:
    """What a launcher sends is what arrives."""

    assert pickle.loads(pickle.dumps(SEALED)) == SEALED


def test_a_receipt_is_intact_as_its_owner_made_it() -> None:
    """Its digest covers its fields."""

    assert SEALED.is_intact
    assert not RECEIPT.is_intact


@pytest.mark.parametrize(
    "name", [field.name for field in dataclasses.fields(Receipt) if field.name != "digest"]
)
def test_a_receipt_changed_in_any_field_is_not_intact(name: str) -> None:
    """No field is left outside the digest."""

    assert not dataclasses.replace(SEALED, **{name: OTHERS[name]}).is_intact


def test_only_the_original_receipt_counts_as_replayed() -> None:
    """`replayed` says that nothing new has happened."""

    replayed = {status: SubmitResult(status).replayed for status in get_args(values.SubmitStatus)}

    assert [status for status, value in replayed.items() if value] == ["already_committed"]


def test_the_vocabularies_are_closed_and_written_once() -> None:
    """The types here and the axes of the decision table are the same words."""

    assert get_args(values.Progress) == recovery.PROGRESS
    assert get_args(values.EffectStatus) == recovery.EFFECT
    assert get_args(values.AuthorityStatus) == recovery.AUTHORITY
    assert set(get_args(values.SubmitStatus)) > values.AUTHORITY_REFUSALS
    assert set(get_args(observations.VerdictName)) > observations.PASSING
