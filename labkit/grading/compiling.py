"""An answer's code, compiled once beside whoever grades, so that none of its many processes has to.

No line of it runs here; what is hard on the compiler is given up on.
"""

from __future__ import annotations

import marshal
import resource
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labkit.errors import BadHandler
from labkit.harness.loading import compiled

MOST_COMPILER_BYTES = 256 * 1024**2
MOST_CODE_BYTES = 8 * 1024**2


def code_of(file: Path) -> bytes:
    """What a handler's file compiles to, for the children that will run it.

    Empty where a child has to do it itself, within its own limits: what is no Python, what is nested deeper
    than marshal goes, and what grows too large (each `finally` in a `finally` doubles its code).
    What the compiler warns of quotes the answer, and is not for the terminal of whoever grades.
    """
    with (
        suppress(BadHandler, RecursionError, MemoryError, ValueError),
        warnings.catch_warnings(),
        little_memory(),
    ):
        warnings.simplefilter("ignore")
        code = marshal.dumps(compiled(file))
        return code if len(code) <= MOST_CODE_BYTES else b""
    return b""


@contextmanager
def little_memory() -> Iterator[None]:
    """Let this process grow by no more than a compiler needs; what wants more fails by a MemoryError."""
    pages = Path("/proc/self/statm")
    if not pages.is_file():  # not Linux, where nothing says how large it is already
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = resource.getpagesize() * int(pages.read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_COMPILER_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
