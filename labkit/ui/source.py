"""`show`: the real source of a worker, and where it stands."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.errors import UnknownName
from labkit.learning.places import relative
from labkit.ui.one_line import in_one_line


@dataclass(frozen=True, slots=True)
class Source:
    """Pieces of source text as (file within the project, text)."""

    parts: tuple[tuple[str, str], ...]


@in_one_line
def show(*things: Callable[..., Any] | type | ModuleType) -> Source:
    """The source of functions, classes or modules, each with its file.

    Raises:
        UnknownName: a thing has no Python source.
    """
    return Source(tuple(_part(thing) for thing in things))


def _part(thing: Any) -> tuple[str, str]:
    try:
        file = inspect.getsourcefile(thing)
        text = inspect.getsource(thing)
    except (TypeError, OSError):
        raise UnknownName(
            f"{thing!r} has no source to show", "give a function, a class or a module"
        ) from None
    return relative(Path(file or "?")), textwrap.dedent(text)
