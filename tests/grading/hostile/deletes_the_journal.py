"""Deletes every store that it can reach."""

import os


def resume(world):
    for name in os.listdir("."):
        try:
            os.unlink(name)
        except OSError:
            pass
    return "done"
