"""A handler from its file: compiled once, executed in each process that needs it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from labkit.errors import BadHandler


def load(file: Path, function: str, code: CodeType | None = None) -> Callable[[Any], Any]:
    """The handler `function` of a Python file, which is executed once; `code` as for `load_module`.

    Raises:
        BadHandler: the file is missing, fails to import, or has no such function.
    """
    module = load_module(file, code)
    handler = getattr(module, function, None)
    if not callable(handler):
        raise BadHandler(f"{file.name} has no function `{function}`", "name one as FILE:FUNCTION")
    return handler  # type: ignore[no-any-return]


_COMPILED: dict[Path, tuple[str, CodeType]] = {}


def compiled(file: Path) -> CodeType:
    """The code of a Python file as it is now; compiled again only when its text has changed.

    A warm process calls this before it forks, so that its children need not compile.

    Raises:
        BadHandler: the file is missing or is no Python.
    """
    try:
        text = file.read_text(encoding="utf-8")
        if file not in _COMPILED or _COMPILED[file][0] != text:
            _COMPILED[file] = (text, compile(text, str(file), "exec"))
    except OSError:
        raise BadHandler(f"{file} is missing", "name a Python file") from None
    except (SyntaxError, ValueError) as error:
        raise BadHandler(f"{file.name} is no Python ({error})", "mend it and run again") from None
    return _COMPILED[file][1]


def load_module(file: Path, code: CodeType | None = None) -> ModuleType:
    """Execute a Python file as a module of its own; `code` is what it compiles to, where that is known.

    Raises:
        BadHandler: it is missing, no Python, or fails.
    """
    code = code or compiled(file)
    module = ModuleType(f"handler_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    try:
        exec(code, module.__dict__)  # noqa: S102  running the handler is what this process is for
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1].lineno
        raise BadHandler(
            f"{file.name} cannot be imported (line {place}: {error!r})", "mend it and run again"
        ) from error
    return module
