"""Breaks the interpreter from below."""

import ctypes


def resume(world):
    ctypes.string_at(0)
