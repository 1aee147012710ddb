"""The learner's surface: everything that an answer may import.

    from labkit.kata import *

`World` is what a handler is given: `world.journal`, `world.payments`, `world.messages`,
`world.operation()`, `world.now_ms`, `world.reached`.  Write to a store only inside `with atomic(store.db):`.
"""

from __future__ import annotations

from labkit.boundaries import Boundary
from labkit.errors import AmbiguousOutcome, KnownFailure, LabError, StaleClaim
from labkit.harness.world import World
from labkit.stores.journal import new_operation
from labkit.stores.sqlite import atomic
from labkit.values import Action, Mandate, Operation, Reading, Receipt, SubmitResult

__all__ = [
    "Action",
    "AmbiguousOutcome",
    "Boundary",
    "KnownFailure",
    "LabError",
    "Mandate",
    "Operation",
    "Reading",
    "Receipt",
    "StaleClaim",
    "SubmitResult",
    "World",
    "atomic",
    "new_operation",
]
