"""The demo's worker: the whole protocol, and after a resume one replay on purpose.

`resume` asks the provider once more for what is already done, under the same key.  The protocol has
no need to: it read the effect first.  The demo does it to show what the provider then answers.
"""

from __future__ import annotations

from typing import Any

from labkit.harness.workers import full_protocol
from labkit.kata import World


def pay(world: World) -> str:
    """The first run."""
    return full_protocol.pay(world)


def resume(world: World) -> dict[str, Any]:
    """The seven moves, then the replay; a call without a key is never repeated."""
    state = full_protocol.resume(world)
    operation = world.operation("charge")
    if not operation.idempotent:
        return {"state": state, "replayed": None, "receipt_digest": None}
    again = world.payments.submit(operation.operation_id, operation.action)
    return {
        "state": state,
        "replayed": again.replayed,
        "receipt_digest": again.receipt.digest if again.receipt else None,
    }
