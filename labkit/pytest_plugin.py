"""The pytest fixture `crash_sweep`: a handler killed at every crash point, from one's own test suite.

    def test_orders_are_paid_once(crash_sweep):
        assert crash_sweep("orders.py:handler").verdicts == {"exactly_one"}

pytest loads this module in every project where labkit is installed, so it imports nothing else of
labkit before the fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from labkit.harness.pool import Pool
    from labkit.observations import Sweep

SWEPT = pytest.StashKey[list[Any]]()


class CrashSweep:
    """Sweeps handlers for one test.  Paths are looked for beside the test's file first."""

    def __init__(self, pool: Pool, beside: Path, root: Path, swept: list[Any]) -> None:
        self._pool = pool
        self._folders = (beside, root)
        self._swept = swept

    def __call__(self, target: str = "", **options: Any) -> Sweep:
        """Sweep FILE or FILE:FUNCTION and return the `Sweep`.

        The options are those of `lab sweep`: `resume`, `command`, `facts`, `points`, `depth`, `fault`,
        `world`, `deadline_s`, `seed` (see `labkit.grading.sweeping.Request`).

        Raises:
            LabError: the handler cannot be swept, or the infrastructure broke; the test then errs.
        """
        from labkit.grading.sweeping import Request, sweep

        if "facts" in options:
            options["facts"] = self._found(options["facts"])
        if ":" in options.get("resume", ""):
            options["resume"] = self._found(options["resume"])
        for name in ("points", "world"):
            if isinstance(options.get(name), str):
                options[name] = tuple(options[name].split(","))
        found = sweep(Request(target=self._found(target) if target else "", **options), self._pool)
        self._swept.append(found)
        return found

    def _found(self, target: str) -> str:
        """A target with its file made absolute, where it is found in one of the folders."""
        file, colon, function = target.partition(":")
        for folder in self._folders:
            if (folder / file).is_file():
                return f"{(folder / file).absolute()}{colon}{function}"
        return target


@pytest.fixture(scope="session")
def _crash_pool() -> Iterator[Pool]:
    """Warm processes for the whole session; under pytest-xdist each worker has its share of the cores."""
    from labkit.harness.pool import Pool, usable_cores

    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with Pool(max(1, usable_cores() // workers)) as pool:
        yield pool


@pytest.fixture
def crash_sweep(request: pytest.FixtureRequest, _crash_pool: Pool) -> CrashSweep:
    """Kill a handler for real at every crash point: `crash_sweep("orders.py:handler").verdicts`."""
    swept = request.node.stash.setdefault(SWEPT, [])
    return CrashSweep(_crash_pool, request.path.parent, request.config.rootpath, swept)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Where a test that swept something fails, its report shows what fell short, by file and line."""
    report = yield
    if report.failed and item.stash.get(SWEPT, []):
        from labkit.ui.sweep_output import shortfall_lines, shortfalls, summary

        for sweep in item.stash[SWEPT]:
            failing = shortfalls(sweep)
            lines = [*(f"problem: {problem}" for problem in sweep.problems), *shortfall_lines(failing, sweep)]
            lines += [summary(sweep, failing), *(f"repeat: {result.command}" for result in failing[:1])]
            report.sections.append((f"crash sweep of {sweep.scenario}", "\n".join(lines)))
    return report
