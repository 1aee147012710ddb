"""Pays without end, under other keys and with none."""

from itertools import count


def resume(world):
    operation = world.operation()
    for number in count():
        world.payments.submit(f"key-{number}", operation.action)
        world.payments.submit(None, operation.action)
