"""Goes down until something breaks."""

import sys


def resume(world):
    sys.setrecursionlimit(10**9)

    def down(n):
        return down(n + 1)

    return down(0)
