"""The guards of a handler, found in its source, and the source with one of them taken out.

Known are four: an `if` in front of something, the key that a call is made under, a statement that
records, and the transaction around statements.  What reads the rows afterwards is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

NOT_THE_HANDLER = frozenset({"crash_world", "crash_facts"})
KEY = re.compile(r"(^|_)(key|operation_id|request_id)$")
RECORDS = re.compile(r"checkpoint|mark|record|save|complete|acknowledge|intend|refuse|settle")
WRITES = re.compile(r"\s*(insert|update|replace|delete)\b", re.IGNORECASE)
TRANSACTION = re.compile(r"^(atomic|transaction|begin)$")
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Removal:
    """One guard taken out: which kind, where it stood, its text, and the whole source without it."""

    guard: str
    line: int
    text: str
    source: str


def without_change(source: str) -> str:
    """The source as `removals` would write it, with every guard in place: the control."""
    return ast.unparse(ast.parse(source)) + "\n"


def removals(source: str) -> list[Removal]:
    """Every guard of a handler's source, each taken out by itself, in the order of their lines."""
    found = []
    for number in range(sum(1 for _ in guards(ast.parse(source)))):
        tree = ast.parse(source)
        guard = list(guards(tree))[number]
        text = ast.unparse(guard.node).splitlines()[0]
        guard.take_out()
        ast.fix_missing_locations(tree)
        found.append(Removal(guard.kind, guard.node.lineno, text, ast.unparse(tree) + "\n"))
    return sorted(found, key=lambda removal: removal.line)


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard in a tree: a statement in its block, or an argument of a call."""

    kind: str
    node: ast.stmt | ast.expr
    place: tuple[list[ast.stmt] | ast.Call | ast.keyword, int]

    def take_out(self) -> None:
        """Change the tree so that the guard guards nothing."""
        holder, index = self.place
        if isinstance(self.node, ast.If):
            leaves = isinstance(self.node.body[-1], LEAVES)
            self.node.test = ast.Constant(value=not leaves)
        elif isinstance(holder, ast.keyword):
            holder.value = of_this_run(holder.value)
        elif isinstance(holder, ast.Call):
            holder.args[index] = of_this_run(holder.args[index])
        elif isinstance(self.node, ast.With):
            holder[index : index + 1] = self.node.body
        else:
            holder[index] = ast.Pass()


def of_this_run(key: ast.expr) -> ast.expr:
    """A key that is another one in every run."""
    template = ast.parse("f'{KEY}:{__import__(\"uuid\").uuid4()}'", mode="eval").body
    assert isinstance(template, ast.JoinedStr)
    assert isinstance(template.values[0], ast.FormattedValue)
    template.values[0].value = key
    return template


def guards(tree: ast.Module) -> Iterator[Guard]:
    """The guards in a tree, in one order for equal sources."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name not in NOT_THE_HANDLER:
            yield from guards_in(function.body)


def guards_in(block: list[ast.stmt]) -> Iterator[Guard]:
    """The guards in a block and the blocks below it; a function in it is looked at by itself."""
    for index, statement in enumerate(block):
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, ast.If):
            yield Guard("if", statement, (block, index))
        elif isinstance(statement, ast.With) and any(is_transaction(item) for item in statement.items):
            yield Guard("transaction", statement, (block, index))
        elif isinstance(statement, ast.Expr) and records(statement.value):
            yield Guard("record", statement, (block, index))
        yield from keys_in(statement)
        for name in ("body", "orelse", "finalbody"):
            yield from guards_in(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from guards_in(handler.body)


def keys_in(statement: ast.stmt) -> Iterator[Guard]:
    """The keys of the calls that a statement makes itself, not in the blocks below it."""
    for node in own_expressions(statement):
        if isinstance(node, ast.Call):
            for index, argument in enumerate(node.args):
                if KEY.search(name_of(argument)):
                    yield Guard("key", argument, (node, index))
            for keyword in node.keywords:
                if keyword.arg and KEY.search(keyword.arg):
                    yield Guard("key", keyword.value, (keyword, 0))


def own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Every expression of a statement, without those of the statements below it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        below = ast.iter_child_nodes(node)
        waiting += [child for child in below if not isinstance(child, (ast.stmt, ast.ExceptHandler))]


def is_transaction(item: ast.withitem) -> bool:
    """`with atomic(db):` or `with db:`; one that is given a name opens something and stays."""
    if item.optional_vars is not None:
        return False
    called = item.context_expr
    if isinstance(called, ast.Call):
        return bool(TRANSACTION.search(name_of(called.func)))
    return isinstance(called, (ast.Name, ast.Attribute))


def records(value: ast.expr) -> bool:
    """Whether an expression is a call that records, by its name or by its SQL."""
    if not isinstance(value, ast.Call):
        return False
    first = value.args[0] if value.args else None
    is_sql = isinstance(first, ast.Constant) and isinstance(first.value, str) and WRITES.match(first.value)
    return bool(RECORDS.search(name_of(value.func)) or is_sql)


def name_of(node: ast.expr) -> str:
    """The last name of `key`, `operation.key` or `order["key"]`; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""
