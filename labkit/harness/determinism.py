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
SHORTEST_TOKEN = 6
EPOCH_S = 1_800_000_000  # 2027-01-15, so that no real time is mistaken for it


def install(seed: str, now_ms: int, mint: Mint) -> None:
    """Bind chance and clock of this process to `seed` and `now_ms`, reporting what is drawn to `mint`."""
    _RUN.update(seed=seed, drawn=0, mint=mint, now_s=EPOCH_S + now_ms / 1000)
    random.seed(seed)
    os.urandom = _urandom
    random._urandom = _urandom  # type: ignore[attr-defined]  # secrets and SystemRandom call it by this name
    uuid.uuid4 = uuid.uuid1 = _new_uuid  # type: ignore[assignment]
    for name, draw in _DRAWS.items():
        setattr(random, name, draw)
    # The clock stands still for the length of a run, so that rows are the same each time.
    time.time = _now_s
    time.time_ns = _now_ns
    datetime.datetime = SeededDateTime  # type: ignore[misc]


# What this process is bound to.  Everything below is made once, at import: a warm process that forks
# many children has it ready, and each child only sets these four values.
_RUN: dict[str, Any] = {}


def _draw(size: int) -> bytes:
    """The next `size` bytes of an endless stream: SHA-256 of the seed in counter mode."""
    data = b""
    while len(data) < size:
        data += hashlib.sha256(f"{_RUN['seed']}:{_RUN['drawn']}".encode()).digest()
        _RUN["drawn"] += 1
    return data[:size]


def _urandom(size: int) -> bytes:
    data = _draw(size)
    _RUN["mint"]({"minted": [data.hex(), base64.urlsafe_b64encode(data).rstrip(b"=").decode()]})
    return data


def _new_uuid(*_: Any) -> uuid.UUID:
    value = uuid.UUID(bytes=_draw(16), version=4)
    _RUN["mint"]({"minted": [str(value), value.hex]})
    return value


def _reporting(draw: Callable[..., Any]) -> Callable[..., Any]:
    def drawn(*arguments: Any, **more: Any) -> Any:
        value = draw(*arguments, **more)
        texts = {str(value), f"{value:x}" if isinstance(value, int) else str(value)}
        # A short number is in too many rows by accident to be told from them; it stays concrete.
        _RUN["mint"]({"minted": sorted(text for text in texts if len(text) >= SHORTEST_TOKEN)})
        return value

    return drawn


_DRAWS = {
    name: _reporting(getattr(random, name)) for name in ("random", "randint", "randrange", "getrandbits")
}


def _now_s() -> float:
    return float(_RUN["now_s"])


def _now_ns() -> int:
    return int(_RUN["now_s"] * 1_000_000_000)


class SeededDateTime(datetime.datetime):
    """datetime whose now() is the run's."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> SeededDateTime:
        """The run's time."""
        return cls.fromtimestamp(_RUN["now_s"], tz)

    @classmethod
    def utcnow(cls) -> SeededDateTime:
        """The run's time in UTC, naive."""
        return cls.fromtimestamp(_RUN["now_s"], datetime.UTC).replace(tzinfo=None)
