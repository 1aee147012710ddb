"""The whole protocol as a worker: admission, epochs, readback, postcondition, recovery receipt."""

from __future__ import annotations

from labkit.kata import World
from labkit.protocol.attempt import first_run
from labkit.protocol.parties import Parties
from labkit.protocol.resume import resume as seven_moves


def parties_of(world: World, ledger: str = "payments") -> Parties:
    """The parties to this run, as the world hands them out."""
    return Parties(
        journal=world.journal, authority=world.authority, provider=world.provider(ledger),
        now_ms=world.now_ms, actor=world.owner, reached=world.reached,
    )  # fmt: skip


def pay(world: World) -> str:
    """The first run."""
    return first_run(parties_of(world), world.operation("charge"))


def resume(world: World) -> str:
    """The seven moves."""
    return seven_moves(parties_of(world), world.workflow_id, "charge")
