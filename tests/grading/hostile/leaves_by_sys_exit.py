"""Leaves with 0 while it is imported."""

import sys


def resume(world):
    return "done"


sys.exit(0)
