"""Whether an exercise's source stands alone: a killed process cannot see the notebook's variables."""

from __future__ import annotations

import builtins
import symtable
from collections.abc import Iterator

from labkit.errors import BadHandler


def require_alone(source: str, name: str) -> None:
    """Refuse a source that needs anything from outside itself.  Raises: BadHandler."""
    if "get_ipython()" in source:  # IPython keeps a magic as the call that it stands for
        raise BadHandler("the exercise's cell uses a magic (% or !)", "use plain Python in it")
    try:
        tables = list(_tables(symtable.symtable(source, name, "exec")))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # more than a parser finds
        raise BadHandler(
            f"the exercise's cell is no Python ({type(error).__name__}: {str(error)[:120]})",
            "mend it and run it again",
        ) from None
    known = {"__name__", "__file__", "__doc__", "__annotations__", *dir(builtins)}
    known |= {
        symbol.get_name() for table in tables for symbol in table.get_symbols() if _defines(table, symbol)
    }
    for table in tables:
        for symbol in table.get_symbols():
            free = symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module")
            if free and symbol.get_name() not in known:
                raise BadHandler(
                    f"the exercise's cell uses `{symbol.get_name()}` from another cell",
                    "import or define it in the exercise's own cell: the killed process sees nothing else",
                )


def _defines(table: symtable.SymbolTable, symbol: symtable.Symbol) -> bool:
    """Whether a scope gives the module a name."""
    module_level = table.get_type() == "module" or symbol.is_declared_global()
    return module_level and (symbol.is_assigned() or symbol.is_imported())


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and all scopes in it, outer ones first, however deep they lie."""
    waiting = [table]
    while waiting:
        table = waiting.pop()
        yield table
        waiting += reversed(table.get_children())
