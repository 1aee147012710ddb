"""Cannot tell what happened, so it changes nothing and leaves the workflow as it found it, for ever."""

from __future__ import annotations

from labkit.kata import World

CAUGHT_BY = "stuck"


def resume(world: World) -> str:
    operation = world.operation()
    if operation.checkpointed:
        return "nothing to do"
    return "outcome unknown, somebody should look"
