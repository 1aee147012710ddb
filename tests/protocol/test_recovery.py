"""The decision: total over 150 combinations, row by row as promised, and safe."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from labkit.protocol.recovery import AUTHORITY, EFFECT, PROGRESS, decide
from labkit.values import AuthorityStatus, Decision, EffectStatus, Progress

Case = tuple[Progress, EffectStatus, AuthorityStatus]
ALL: list[Case] = list(itertools.product(PROGRESS, EFFECT, AUTHORITY))

NO_EFFECT = {"absent", "failed_retryable", "failed_exhausted"}
MAY_RETRY = {"absent", "failed_retryable"}
CLAIMS = {"effect_recorded", "complete"}
ANY = set(AUTHORITY)

# (progress, effect, authority) -> decision; the first row that fits.  Written from the contract.
ROWS: list[tuple[set[str], set[str], set[str], str]] = [
    (CLAIMS, NO_EFFECT, ANY, "reconcile"),
    (set(PROGRESS), {"committed"}, ANY, "complete"),
    (set(PROGRESS), {"pending", "unknown"}, ANY, "reconcile"),
    (set(PROGRESS), MAY_RETRY, {"current", "admitted"}, "execute"),
    (set(PROGRESS), MAY_RETRY, {"expired", "revoked"}, "reauthorise"),
    (set(PROGRESS), MAY_RETRY, {"consumed_elsewhere"}, "abandon"),
    (set(PROGRESS), {"failed_exhausted"}, ANY, "abandon"),
]


def promised(case: Case) -> str:
    """What the contract says of a combination."""
    return next(row[3] for row in ROWS if all(value in part for value, part in zip(case, row, strict=False)))


def test_there_are_150_combinations() -> None:
    """Five words for progress, six for the effect, five for authority."""

    assert (len(PROGRESS), len(EFFECT), len(AUTHORITY), len(set(ALL))) == (5, 6, 5, 150)


@pytest.mark.parametrize("case", ALL, ids=" ".join)
def test_each_combination_is_decided_as_promised(case: Case) -> None:
    """Total: no combination is left to chance, or to an exception."""

    decision = decide(*case)

    assert isinstance(decision, Decision)
    assert decision.kind == promised(case)
    assert decision.because


def test_the_decisions_are_spread_as_counted_by_hand() -> None:
    """Counted from the contract's rows; guards `promised` above against being as wrong as the code."""

    assert Counter(decide(*case).kind for case in ALL) == {
        "reconcile": 2 * 3 * 5 + 5 * 2 * 5,
        "complete": 5 * 5,
        "execute": 3 * 2 * 2,
        "reauthorise": 3 * 2 * 2,
        "abandon": 3 * 2 * 1 + 3 * 1 * 5,
    }


def test_nothing_executes_unless_the_effect_is_absent_or_failed() -> None:
    """First proposition."""

    assert {effect for _, effect, _ in executing()} == {"absent", "failed_retryable"}


def test_nothing_executes_without_current_authority_or_a_prior_admission() -> None:
    """Second proposition."""

    assert {authority for _, _, authority in executing()} == {"current", "admitted"}


def test_nothing_completes_without_an_observed_effect() -> None:
    """Third proposition; and whatever else is true, an observed effect completes."""

    completing = [case for case in ALL if decide(*case).kind == "complete"]

    assert completing == [case for case in ALL if case[1] == "committed"]


def executing() -> list[Case]:
    """The combinations that change the world."""
    return [case for case in ALL if decide(*case).kind == "execute"]


def test_a_journal_that_claims_what_the_ledger_denies_is_named() -> None:
    """The row that comes first says so by name, whatever authority says."""

    named = {case for case in ALL if decide(*case).because.startswith("phantom_progress")}

    assert named == {case for case in ALL if case[0] in CLAIMS and case[1] in NO_EFFECT}


def test_the_decision_is_a_function_of_its_arguments() -> None:
    """Asked twice, it says the same."""

    assert [decide(*case) for case in ALL] == [decide(*case) for case in ALL]
