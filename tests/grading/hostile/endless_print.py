"""Prints for ever, to both streams."""

import sys


def resume(world):
    while True:
        print("verdict: exactly_one " * 500)
        print("x" * 10_000, file=sys.stderr)
