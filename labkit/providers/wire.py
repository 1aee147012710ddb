"""What comes over a provider's wire, checked value by value, and what goes back, as plain JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from labkit.errors import BadAction, LabError
from labkit.values import Action

CALLS = ("fence", "submit", "read", "mandate_refusal", "postcondition")


def checked(call: str, arguments: Any) -> list[Any]:
    """The arguments of a call, each of its type.  Raises: ValueError, BadAction."""
    if call not in CALLS or not isinstance(arguments, list):
        raise ValueError(call)
    if call == "fence":
        subject, epoch = arguments
        return [text(subject), whole_number(epoch)]
    if call == "submit":
        operation_id, action, epoch = arguments
        return [operation_id if operation_id is None else text(operation_id), action_of(action),
                whole_number(epoch)]  # fmt: skip
    [only] = arguments
    return [text(only) if call == "read" else action_of(only)]


def text(value: Any) -> str:
    """A string that SQLite can keep.  Raises: ValueError."""
    if not isinstance(value, str):
        raise ValueError(value)
    value.encode("utf-8")
    return value


def whole_number(value: Any) -> int:
    """An integer that SQLite can keep.  Raises: ValueError."""
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value


def action_of(found: Any) -> Action:
    """An action from the wire.  Raises: BadAction."""
    if not isinstance(found, dict):
        raise BadAction("an action is an object", "send kind, subject, amount_minor, currency, details")
    return Action.from_json({**found, "details": dict(found.get("details") or ())})


def line_of(message: dict[str, Any]) -> bytes:
    """A message as it goes over the wire."""
    return json.dumps(message).encode() + b"\n"


def plain(value: Any) -> Any:
    """An answer as plain JSON."""
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def refused(error: LabError) -> dict[str, Any]:
    """An error as it goes over the wire."""
    return {"error": type(error).__name__, "message": error.message, "cure": error.cure}
