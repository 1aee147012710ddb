"""What every test shares."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from labkit.harness.pool import Pool

# The same examples in every run and on every machine; slow machines do not fail by being slow.
settings.register_profile("labkit", derandomize=True, deadline=None, database=None)
settings.load_profile("labkit")

# Folders of tests lie on tmpfs where there is one: stores sync fully, and a disk would make that slow.
if os.access("/dev/shm", os.W_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

REQUIRE_ALL = os.environ.get("LAB_REQUIRE_ALL") == "1"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Two warm processes for all tests of a module: what one handler does to them, the next one meets."""
    with Pool(2) as warm:
        yield warm


@pytest.fixture(scope="session")
def system_program() -> Callable[..., str]:
    """Finds a program of the system by any of its names: `system_program("chromium", "chromium-browser")`.

    Where none is installed the test skips and says what to install; with `LAB_REQUIRE_ALL=1` it fails.
    """

    def find(*names: str) -> str:
        for name in names:
            if found := shutil.which(name):
                return found
        why = f"{names[0]} is not installed; install it, or CI's LAB_REQUIRE_ALL=1 would fail here"
        if REQUIRE_ALL:
            pytest.fail(f"{names[0]} is not installed and LAB_REQUIRE_ALL=1 lets no test skip for that")
        pytest.skip(why)

    return find
