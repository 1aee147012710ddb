"""Has everything be equal to everything, and every list be full."""

import builtins


def resume(world):
    builtins.all = builtins.any = lambda _: True
    builtins.len = lambda _: 1
    builtins.open = None
    builtins.isinstance = lambda *_: True
    return "done"
