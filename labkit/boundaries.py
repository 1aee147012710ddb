"""The named places between two durable facts, where a crash means something.

A worker announces a boundary by calling `reached(Boundary...)`.  In production that call is
`nowhere`, which does nothing; the harness passes one that reports and waits to be killed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Boundary(StrEnum):
    """A named boundary.  The value is the name that reports and the command line show."""

    INTENT_RECORDED = "intent.recorded"
    ADMITTED = "admission.recorded"
    DISPATCHED = "dispatch.recorded"
    BEFORE_EFFECT = "effect.requested"
    EFFECT_INSERTED = "effect.inserted"
    EFFECT_COMMITTED = "effect.committed"
    ACKNOWLEDGED = "effect.acknowledged"
    CHECKPOINTED = "checkpoint.recorded"
    CLAIMED = "resume.claimed"
    EFFECT_READ = "resume.effect_read"
    DECIDED = "resume.decided"
    RECEIPT_WRITTEN = "resume.receipt_written"

    @property
    def sentence(self) -> str:
        """What is durable when a worker dies here."""
        return SENTENCES[self]


SENTENCES: dict[Boundary, str] = {
    Boundary.INTENT_RECORDED: "The journal holds the operation id and the exact action; nobody was asked yet.",
    Boundary.ADMITTED: "The approver recorded that this operation entered under valid authority.",
    Boundary.DISPATCHED: "The journal says that the request is about to be sent.",
    Boundary.BEFORE_EFFECT: "The provider has not been called in this run.",
    Boundary.EFFECT_INSERTED: "The ledger's transaction holds the effect and is not committed: a crash undoes it.",
    Boundary.EFFECT_COMMITTED: "The effect is durable in the ledger; the worker has not heard of it.",
    Boundary.ACKNOWLEDGED: "The journal holds the provider's receipt; the checkpoint is not written.",
    Boundary.CHECKPOINTED: "The journal says that the step is complete.",
    Boundary.CLAIMED: "The resumer holds a new epoch, in the journal and at the provider.",
    Boundary.EFFECT_READ: "The resumer has read the effect from its owner; nothing was changed by that.",
    Boundary.DECIDED: "The decision is taken and not yet carried out.",
    Boundary.RECEIPT_WRITTEN: "The recovery receipt is durable.",
}

Reached = Callable[[Boundary], None]


def nowhere(boundary: Boundary) -> None:
    """The production announcer: boundaries pass unnoticed."""
