"""A wrong extension: the payment's checkpoint serves as the one flag that says all is done.

It exits 0 and its journal is complete, after a crash in the wrong place too.  Only nobody was told.
"""

from __future__ import annotations

from labkit.harness.workers.pay_and_tell import notice_of, pay
from labkit.kata import World


def pay_and_tell(world: World) -> str:
    """Nothing to do where the flag is up; else pay, which raises it, and tell the customer."""
    if world.operation("charge").checkpointed:
        return "done"
    receipt = pay(world)
    if receipt is None:
        return "refused"
    world.messages.submit(f"{world.workflow_id}:notify", notice_of(receipt))
    return "done"
