"""When two durable states are the same state."""

from __future__ import annotations

from typing import Any

from labkit.harness.identity import by_appearance, raw_digest, state_digest
from labkit.observations import Snapshot


def stores(**changes: Any) -> Snapshot:
    """One workflow at epoch 3 whose effect came under epoch 2; `changes` set single values."""
    row = {"owner": "worker-1", "epoch": 3, "key": "k", **changes}
    return {
        "journal": {
            "workflows": [{"owner": row["owner"], "epoch": row["epoch"]}],
            "events": [{"n": row.get("n", 0)}],
        },
        "ledger": {"effects": [{"operation_id": row["key"], "epoch": row.get("effect_epoch", 2)}]},
    }


def test_epochs_are_ranked_over_all_stores_together() -> None:
    """3 and 2 is the same standing as 7 and 5, and another than 3 and 3."""
    assert state_digest(stores(), []) == state_digest(stores(epoch=7, effect_epoch=5), [])
    assert state_digest(stores(), []) != state_digest(stores(effect_epoch=3), [])


def test_an_epoch_that_was_never_raised_stays_apart() -> None:
    """Zero is no claim, whatever the other epochs are."""
    assert state_digest(stores(effect_epoch=0), []) != state_digest(stores(effect_epoch=2), [])


def test_evidence_and_incarnations_make_no_new_state() -> None:
    """More events, or another worker's name, are not another state; the contents differ all the same."""
    assert state_digest(stores(), []) == state_digest(stores(n=9, owner="worker-2"), [])
    assert raw_digest(stores()) != raw_digest(stores(n=9))


def test_a_minted_value_is_named_and_any_other_value_is_concrete() -> None:
    """Two random keys are one state, two chosen ones are two."""
    assert state_digest(stores(key="aaaa-1111"), ["aaaa-1111"]) == state_digest(
        stores(key="bbbb-2222"), ["bbbb-2222"]
    )
    assert state_digest(stores(key="aaaa-1111"), []) != state_digest(stores(key="bbbb-2222"), [])


def test_two_minted_values_are_not_one_value_twice() -> None:
    """Naming by first appearance keeps equality: x, y is not x, x."""
    assert by_appearance("c0ffee 123456", ["123456", "c0ffee"]) == by_appearance(
        "dddddd eeeeee", ["dddddd", "eeeeee"]
    )
    assert by_appearance("c0ffee 123456", ["123456", "c0ffee"]) != by_appearance("c0ffee c0ffee", ["c0ffee"])


def test_a_minted_value_within_a_longer_text_is_named_there_too() -> None:
    """A key that is built from a random part is opaque in that part only."""
    assert by_appearance("order-1:c0ffee", ["c0ffee"]) == "order-1:<1>"
