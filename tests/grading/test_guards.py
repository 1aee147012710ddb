"""Guards of a handler: found where they stand, and taken out one at a time."""

from __future__ import annotations

import ast

import pytest

from labkit.grading.guards import removals, without_change

HANDLER = '''
def handler(world):
    """Pay once."""
    operation = world.operation("charge")
    if operation.checkpointed:
        return "nothing to do"
    if operation.ready:
        world.log("ready")
    result = world.payments.submit(operation.operation_id, operation.action)
    charge(order, key=f"order-{order}")
    charge(order, order["key"])
    with atomic(world.journal.db):
        world.journal.checkpoint(operation, result)
    with db:
        db.execute("UPDATE orders SET paid = 1")
    with closing(open_it()) as it:
        it.read("SELECT 1")


def crash_facts(folder):
    if folder:
        db.execute("INSERT INTO reads VALUES (1)")
'''


def found() -> list[tuple[str, int, str]]:
    return [(removal.guard, removal.line, removal.text) for removal in removals(HANDLER)]


def test_each_kind_of_guard_is_found_at_its_line() -> None:
    """And nothing in the functions that only read the rows afterwards."""

    assert found() == [
        ("if", 5, "if operation.checkpointed:"),
        ("if", 7, "if operation.ready:"),
        ("key", 9, "operation.operation_id"),
        ("key", 10, "f'order-{order}'"),
        ("key", 11, "order['key']"),
        ("transaction", 12, "with atomic(world.journal.db):"),
        ("record", 13, "world.journal.checkpoint(operation, result)"),
        ("transaction", 14, "with db:"),
        ("record", 15, "db.execute('UPDATE orders SET paid = 1')"),
    ]


CHANGES = {
    5: ("if operation.checkpointed:", "if False:"),  # it never leaves early
    7: ("if operation.ready:", "if True:"),  # it always does it
    9: (
        "submit(operation.operation_id,",
        "submit(f'{operation.operation_id}:{__import__(\"uuid\").uuid4()}',",
    ),
    12: ("    with atomic(world.journal.db):\n        world", "    world"),
    13: ("world.journal.checkpoint(operation, result)", "pass"),
}


@pytest.mark.parametrize("line", CHANGES)
def test_one_guard_is_taken_out_and_the_rest_stands(line: int) -> None:
    """Apart from it, the source is the control's."""

    before, after = CHANGES[line]
    [removal] = [removal for removal in removals(HANDLER) if removal.line == line]

    expected = without_change(HANDLER).replace(before, after)
    assert ast.dump(ast.parse(removal.source)) == ast.dump(ast.parse(expected))
    assert removal.source != without_change(HANDLER)


def test_the_control_means_the_same() -> None:
    """Comments and layout go, nothing else."""

    assert ast.dump(ast.parse(without_change(HANDLER))) == ast.dump(ast.parse(HANDLER))


def test_a_handler_without_guards_has_no_removals() -> None:
    """There is nothing that a sweep could be asked about."""

    assert removals("def handler(folder):\n    return 1\n") == []
