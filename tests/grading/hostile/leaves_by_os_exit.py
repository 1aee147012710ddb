"""Leaves with 0, past every finally."""

import os


def resume(world):
    os._exit(0)
