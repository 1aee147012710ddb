"""The fixture `crash_sweep` in the test suite of someone else: light to load, readable when it fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ORDERS = Path(__file__).parents[1] / "data" / "examples" / "orders"
DEADLINE_S = 100


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """The example project, somewhere else, without any configuration of ours."""
    shutil.copytree(ORDERS, tmp_path / "orders", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "orders" / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path / "orders"


def pytest_in(folder: Path, *words: str, installed: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs that suite in a process of its own, with all installed plugins, or with ours alone: that is quick."""
    environment = os.environ if installed else {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ours = () if installed else ("-p", "labkit.pytest_plugin")
    command = [sys.executable, "-m", "pytest", *ours, "-q", "-p", "no:cacheprovider", "-W", "error", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=DEADLINE_S
    )


def test_loading_it_loads_nothing_else_of_labkit() -> None:
    """pytest loads it in every project, so it costs nothing until it is used."""

    code = (
        "import sys, pytest, labkit.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('labkit')), 'sqlite3' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "['labkit', 'labkit.pytest_plugin'] False\n"


def test_pytest_knows_the_fixture(suite: Path) -> None:
    """By the entry point of the installed package: nothing has to be configured."""

    listed = pytest_in(suite, "--fixtures", "-v", installed=True)

    assert "crash_sweep -- " in listed.stdout
    assert "Kill a handler for real at every crash point" in listed.stdout


def test_the_examples_suite_passes_side_by_side(suite: Path) -> None:
    """Under pytest-xdist each worker has its own warm processes; files are found beside the tests."""

    ran = pytest_in(suite.parent, "-p", "xdist", "-n", "2", "orders")

    assert ran.returncode == 0, ran.stdout
    assert "4 passed" in ran.stdout


def test_a_failing_test_shows_where_it_fell_short(suite: Path) -> None:
    """The set of verdicts says that, the report's section says where and how to see it again."""

    (suite / "test_orders.py").write_text(
        "def test_paid_once(crash_sweep):\n"
        "    sweep = crash_sweep('new_key.py', points='statement')\n"
        "    assert sweep.verdicts == {'exactly_one'}\n",
        encoding="utf-8",
    )

    ran = pytest_in(suite)

    assert ran.returncode == 1
    assert "crash sweep of new_key" in ran.stdout
    assert "new_key.py:19: 5 BEGIN at line 19" in ran.stdout
    assert "duplicate: order 1001: 2 effects for one intent" in ran.stdout
    assert f"repeat: lab sweep {suite / 'new_key.py'} --points statement --fault kill --at 5" in ran.stdout


def test_a_handler_that_cannot_be_swept_is_an_error_of_one_line(suite: Path) -> None:
    """The test errs with the file and the cure."""

    (suite / "test_orders.py").write_text(
        "def test_paid_once(crash_sweep):\n    crash_sweep('right.py:pay_twice')\n", encoding="utf-8"
    )

    ran = pytest_in(suite)

    assert ran.returncode == 1
    assert "BadHandler: right.py has no function `pay_twice`: name one as FILE:FUNCTION" in ran.stdout
