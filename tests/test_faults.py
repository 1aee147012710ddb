"""docs/faults.md names tests that exist, and a test for every line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "faults.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def lines() -> list[list[str]]:
    """The cells of every line of the page's tables; a bar within a code span would end a cell."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in rows
        if not row.startswith(("|---", "| kind"))
    ]


def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("line", lines(), ids=lambda line: line[0])
def test_every_line_names_tests_that_exist(line: list[str]) -> None:
    kind, right, named = line
    found = NAMED.findall(named)

    assert kind
    assert right
    assert found
    assert re.sub(r"[\s,]", "", NAMED.sub("", named)) == ""
    assert [name for file, name in found if name not in functions_in(file)] == []


def test_the_tables_are_whole() -> None:
    assert len(lines()) == 29 + 31
    assert len({line[0] for line in lines()}) == len(lines())
