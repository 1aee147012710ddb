"""Takes all the memory there is."""


def resume(world):
    kept = []
    while True:
        kept.append(bytearray(50_000_000))
