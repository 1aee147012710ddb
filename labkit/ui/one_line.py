"""Errors of ours in a notebook: one line that says what to do, and Run All stops there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from labkit.errors import LabError

P = ParamSpec("P")
T = TypeVar("T")


def in_one_line(call: Callable[P, T]) -> Callable[P, T]:
    """The same call; a `LabError` that leaves it is shown by IPython as its line, without a traceback."""

    @functools.wraps(call)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except LabError as error:
            line = f"{type(error).__name__}: {error}"
            error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]  # IPython asks for it
            raise

    return wrapper
