"""Pays as often as it can, under other keys and with none."""


def resume(world):
    operation = world.operation()
    for number in range(100):
        world.payments.submit(f"key-{number}", operation.action)
        world.payments.submit(None, operation.action)
    return "done"
