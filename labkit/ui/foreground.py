"""A server that is another's program: run until it ends or until we are told to, and never left behind."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from labkit.errors import HarnessError
from labkit.harness.child import PR_SET_PDEATHSIG

TELLS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 15.0  # to end its kernels


class Told(BaseException):
    """One of these signals came."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def until_told(arguments: Sequence[str], env: Mapping[str, str]) -> int | None:
    """Run it; the number of the signal that told us to end it, None where it ended by itself.

    It has a session of its own, so that Ctrl-C reaches us alone and it asks nothing; it ends by SIGTERM, as it
    does on Linux if we are killed, and by SIGKILL where we are told twice or it takes longer than GRACE_S.

    Raises:
        HarnessError: it ended by itself and says that it failed.
    """
    process = None
    try:
        with _signals(_tell):
            process = subprocess.Popen(
                arguments,
                env=env,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=_with_parent(),
            )
            code = process.wait()
    except Told as told:
        if process is not None:
            _end(process)
        return told.number
    if code:
        raise HarnessError(f"{arguments[2]} ended with {code}", "what it printed above says why")
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    with _signals(lambda _number, _frame: process.kill()):
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _tell(number: int, _frame: FrameType | None) -> None:
    raise Told(number)


@contextmanager
def _signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in TELLS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _with_parent() -> Callable[[], None] | None:
    """For the child before it becomes the server: SIGTERM when its parent dies."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
