"""Whether an exercise still stands as it was handed out: said alike by the map, `lab check` and `lab watch`."""

from __future__ import annotations

import ast

from labkit.observations import Sweep

NOT_WRITTEN = "NotImplementedError"  # what the exercise raises as it is handed out


def line(sweep: Sweep) -> str:
    """`` `resume` is not written yet.`` where nothing else fell short than a function that says so.  Pure.

    Empty where anything else went wrong, and where no source shows such a function.
    """
    said = {one.explanation for one in sweep.all_results if not one.passed and one.explanation}
    if said != {NOT_WRITTEN}:
        return ""
    for file, _function in (sweep.resume, sweep.first):
        if name := _gap(sweep.sources.get(file, "")):
            return f"`{name}` is not written yet."
    return ""


def _gap(source: str) -> str:
    """The first function of a source that raises the error of a gap; empty where there is none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the handler is a program in another language
        return ""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next((one.name for one in functions if any(_is_gap(node) for node in ast.walk(one))), "")


def _is_gap(node: ast.AST) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(raised, ast.Name) and raised.id == NOT_WRITTEN
