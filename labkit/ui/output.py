"""What every command prints: a table for people, JSON for programs, a bar only on a terminal.

Results go to stdout; progress and complaints to stderr, so that `lab ... --json | jq` works.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

Advance = Callable[[str], None]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]

PIPE_WIDTH = 160  # columns where stdout is no terminal, so that a log is not folded at 80


def print_json(value: Any) -> None:
    """One JSON document on stdout; frozen values become objects, paths their text."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table on stdout.  Cells are shown as text; None is shown as nothing."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    _console().print(table)


def print_line(text: str) -> None:
    """One line of plain text on stdout, never folded or styled."""
    print(text)


def complain(text: str) -> None:
    """One line on stderr, whatever the text holds."""
    print(" ".join(text.split()), file=sys.stderr)


@contextmanager
def progress(label: str, total: int) -> Iterator[Advance]:
    """A bar on stderr for `total` pieces of work; silent where stderr is no terminal.

    Call what it yields once a piece, with the name of the piece that is done.
    """
    if not sys.stderr.isatty():
        yield lambda _name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[name]}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, name="")
        yield lambda name: bar.update(task, advance=1, name=name)


def _console() -> Any:
    from rich.console import Console

    # Markup would read "[1]" in a cell as a style, and highlighting colours numbers at random.
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, markup=False, highlight=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
