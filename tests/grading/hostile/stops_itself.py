"""Stops, and waits to be forgotten."""

import os
import signal


def resume(world):
    os.kill(os.getpid(), signal.SIGSTOP)
    return "done"
