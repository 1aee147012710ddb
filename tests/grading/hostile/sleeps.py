"""Waits until everybody has gone home."""

import threading
import time


def resume(world):
    threading.Thread(target=time.sleep, args=(10_000,)).start()
    time.sleep(10_000)
