"""The error tree: whatever goes wrong, a caller knows whether the effect may have happened."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from labkit import errors
from labkit.errors import LabError


def tree(root: type[LabError] = LabError) -> Iterator[type[LabError]]:
    """Every class of the tree, each after its base."""
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


EVERY = list(tree())


@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.__name__)
def test_every_error_says_whether_the_effect_may_have_happened(error: type[LabError]) -> None:
    """`effect` is `no` or `maybe`; there is no third answer and no silence."""

    assert error.effect in ("no", "maybe")


def test_only_a_lost_answer_leaves_the_effect_open() -> None:
    """Whoever adds another `maybe` has to say so here."""

    assert [error for error in EVERY if error.effect == "maybe"] == [errors.AmbiguousOutcome]


@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.__name__)
def test_exit_codes_follow_the_branch(error: type[LabError]) -> None:
    """2 is the caller's to mend, 3 the machine's, 1 is a result that fell short."""

    expected = 2 if issubclass(error, errors.UsageError) else 1
    expected = 3 if issubclass(error, errors.InfrastructureError) else expected

    assert expected == error.exit_code


@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.__name__)
@pytest.mark.parametrize(
    "copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy], ids=["pickle", "copy"]
)
def test_an_error_survives_a_process_border(error: type[LabError], copied: object) -> None:
    """Class, message and cure come out as they went in."""

    raised = error("effects.sqlite3 is gone", "name another file")
    arrived = copied(raised)  # type: ignore[operator]

    assert (error, "effects.sqlite3 is gone", "name another file") == (
        type(arrived),
        arrived.message,
        arrived.cure,
    )
    assert str(raised) == str(arrived)


def test_an_error_is_one_line_that_names_the_thing_and_the_cure() -> None:
    """Line breaks of what was quoted do not break the line."""

    error = errors.BadAction("action.json:\n  field\t`kind`", "write\nit down")

    assert str(error) == "action.json: field `kind`: write it down"


def test_without_a_cure_the_message_stands_alone() -> None:
    """No dangling colon."""

    assert str(LabError("it is so")) == "it is so"


def test_the_reader_of_a_base_class_catches_the_whole_branch() -> None:
    """`except InfrastructureError` is enough to keep broken machines out of scores."""

    with pytest.raises(errors.InfrastructureError):
        raise errors.StoreLocked("journal.sqlite3 is locked", "wait")
