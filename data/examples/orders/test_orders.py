"""The shop's own test suite: with labkit installed, pytest has the fixture `crash_sweep`."""

import pytest


def test_the_right_handler_pays_once_wherever_it_dies(crash_sweep):
    """One payment, recorded, at every line and every SQL statement."""
    sweep = crash_sweep("right.py:handler")

    assert sweep.verdicts == {"exactly_one"}
    assert sweep.passed


@pytest.mark.parametrize(
    ("file", "verdicts"),
    [
        ("new_key.py", {"exactly_one", "duplicate"}),
        ("checkpoint_first.py", {"exactly_one", "phantom_progress"}),
        ("gives_up.py", {"exactly_one", "lost", "orphan_effect"}),
    ],
)
def test_a_wrong_handler_is_caught(crash_sweep, file, verdicts):
    """Each of them passes any test that kills nothing."""
    sweep = crash_sweep(file)

    assert sweep.control.passed
    assert sweep.verdicts == verdicts
