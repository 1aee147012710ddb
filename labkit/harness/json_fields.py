"""Values out of a JSON document that somebody may have written by hand: each checked, each error with its place."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from labkit.errors import BadPacket

NOT_OURS = "name a file that labkit wrote"
OTHER_VERSION = "use the labkit that wrote it"

Value = TypeVar("Value")


def texts(given: Any, place: str) -> tuple[str, ...]:
    """A list of texts.  Raises: BadPacket."""
    return tuple(typed(item, str, f"{place}[{n}]") for n, item in enumerated(given, place))


def enumerated(given: Any, place: str) -> enumerate[Any]:
    """A list's items with their places.  Raises: BadPacket."""
    return enumerate(typed(given, list, place))


def record(given: Any, kind: type, place: str) -> dict[str, Any]:
    """An object with exactly the fields of a frozen value.  Raises: BadPacket."""
    found, names = typed(given, dict, place), [field.name for field in fields(kind)]
    for name in names:
        if name not in found:
            raise BadPacket(f"{place} lacks the field `{name}`", NOT_OURS)
    for name in found:
        if name not in names:
            raise BadPacket(f"{place} has an unknown field `{name}`", OTHER_VERSION)
    return found


def typed(given: Any, kind: type[Value], place: str) -> Value:
    """A value of exactly one JSON type (true is no number).  Raises: BadPacket."""
    if type(given) is not kind:
        raise BadPacket(f"{place} is no {kind.__name__}: {str(given)[:40]!r}", NOT_OURS)
    return given


def one_of(given: Any, names: tuple[str, ...], place: str) -> Any:
    """A name of a closed set.  Raises: BadPacket."""
    if given not in names:
        raise BadPacket(f"{place} is {str(given)[:40]!r}, none of {', '.join(names)}", OTHER_VERSION)
    return given
