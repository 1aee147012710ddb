"""An exercise's answer: the whole source of the cell that defines the handler, written to the workspace.

A killed process cannot see the notebook's variables, so the cell has to stand alone: its imports
included, nothing from other cells, no magics.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labkit.errors import BadHandler
from labkit.grading.alone import require_alone as require_alone
from labkit.learning import own_files
from labkit.learning.katas import Kata
from labkit.learning.progress import answer_place


def source_of(handler: Callable[..., Any], kata: Kata) -> str:
    """The source of the cell (or file) that defines the kata's exercise.

    Raises:
        BadHandler: it is no function of that name, its source is gone, or it does not stand alone.
    """
    if not inspect.isfunction(handler) or handler.__name__ != kata.exercise:
        given = getattr(handler, "__name__", type(handler).__name__)
        raise BadHandler(
            f"check got {given}", f"give it the function `{kata.exercise}` of the exercise's cell"
        )
    source = "".join(linecache.getlines(handler.__code__.co_filename))
    if not source:
        raise BadHandler(
            f"the source of {kata.exercise} is gone",
            "run the exercise's cell again, without a %% magic, then check",
        )
    require_alone(source, kata.exercise)
    return source


def save(source: str, kata: Kata, workspace: Path) -> Path:
    """Write an answer to the workspace; another one that lies there is kept under its digest first.

    Raises:
        Conflict: what lies there is no file.
        ReadOnly, StoreUnwritable: the answer that lay there lies there still.
    """
    path = answer_place(workspace, kata.slug)
    own_files.require_file(path)
    if path.exists() and (old := path.read_bytes()) != source.encode():
        own_files.put(kept_place(path, hashlib.sha256(old).hexdigest()), old)
    own_files.put(path, source.encode())
    return path


def kept_place(answer: Path, digest: str) -> Path:
    """Where an answer of this SHA-256 is kept when another one takes its place."""
    return answer.parent / "earlier" / f"{answer.stem}-{digest[:12]}.py"
