"""An action read from a JSON file: one exact order, or one line that says why it is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labkit.errors import BadAction
from labkit.values import Action


def read_action(path: Path) -> Action:
    """The action that a file holds.

    Raises:
        BadAction: the file cannot be read, is not one JSON object, names a field twice, lacks one,
            has one that is unknown, or a value of the wrong type.
    """
    try:
        value = json.loads(path.read_bytes(), object_pairs_hook=_object, parse_constant=_no_constant)
    except OSError as error:
        raise BadAction(f"action file {path} cannot be read ({error.strerror})", "name a JSON file") from None
    except (ValueError, RecursionError) as error:
        raise BadAction(
            f"action file {path} is not one JSON object ({error})", "write one action as {...}"
        ) from None
    return Action.from_json(value, str(path))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; Python would quietly keep the last of two equal names."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the field `{name}` stands twice")
    return dict(pairs)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
