"""Chance and the clock inside the child, from a seed, so that every run can be repeated.

`os.urandom`, `random`, `secrets`, `uuid` and `time.time`, `datetime.now` follow the seed; monotonic
clocks stay real, since time-outs use them.  Every value that is drawn is reported: such opaque
values are named by first appearance when two durable states are compared.

Standard library only, and no patching library: this is also injected into foreign programs.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

Mint = Callable[[dict[str, Any]], None]
EPOCH_S = 1_800_000_000  # 2027-01-15, so that no real time is mistaken for it


def install(seed: str, now_ms: int, mint: Mint) -> None:
    """Bind chance and clock of this process to `seed` and `now_ms`, reporting what is drawn to `mint`."""
    stream = _Stream(seed)

    def urandom(size: int) -> bytes:
        data = stream.draw(size)
        mint({"minted": [data.hex(), base64.urlsafe_b64encode(data).rstrip(b"=").decode()]})
        return data

    def new_uuid(*_: Any) -> uuid.UUID:
        value = uuid.UUID(bytes=stream.draw(16), version=4)
        mint({"minted": [str(value), value.hex]})
        return value

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]  # secrets and SystemRandom call it by this name
    uuid.uuid4 = new_uuid
    uuid.uuid1 = new_uuid
    _seed_random(seed, mint)
    _set_clock(now_ms)


class _Stream:
    """An endless stream of bytes from a seed: SHA-256 in counter mode."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.counter = 0

    def draw(self, size: int) -> bytes:
        """The next `size` bytes."""
        data = b""
        while len(data) < size:
            data += hashlib.sha256(f"{self.seed}:{self.counter}".encode()).digest()
            self.counter += 1
        return data[:size]


def _seed_random(seed: str, mint: Mint) -> None:
    random.seed(seed)
    for name in ("random", "randint", "randrange", "getrandbits"):
        setattr(random, name, _reporting(getattr(random, name), mint))


def _reporting(draw: Callable[..., Any], mint: Mint) -> Callable[..., Any]:
    def drawn(*arguments: Any, **more: Any) -> Any:
        value = draw(*arguments, **more)
        texts = {str(value), f"{value:x}" if isinstance(value, int) else str(value)}
        # A short number is in too many rows by accident to be told from them; it stays concrete.
        mint({"minted": sorted(text for text in texts if len(text) >= 6)})
        return value

    return drawn


def _set_clock(now_ms: int) -> None:
    def now_s() -> float:
        # The clock stands still in whole milliseconds of the run, so that rows are the same each time.
        return EPOCH_S + now_ms / 1000

    class SeededDateTime(datetime.datetime):
        """datetime whose now() is the run's."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> SeededDateTime:
            """The run's time."""
            return cls.fromtimestamp(now_s(), tz)

        @classmethod
        def utcnow(cls) -> SeededDateTime:
            """The run's time in UTC, naive."""
            return cls.fromtimestamp(now_s(), datetime.UTC).replace(tzinfo=None)

    time.time = now_s
    time.time_ns = lambda: int(now_s() * 1_000_000_000)
    datetime.datetime = SeededDateTime  # type: ignore[misc]
