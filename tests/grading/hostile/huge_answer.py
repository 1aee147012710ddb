"""Returns more than anybody wants to read."""


def resume(world):
    return "x" * 60_000_000
