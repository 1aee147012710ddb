"""The transition table: every row of it, and nothing else."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from labkit.errors import ForbiddenMove, StaleClaim
from labkit.protocol.states import FINAL, MOVES, Evidence, State, phase_of, progress_of, require_move
from labkit.stores.sqlite import atomic

# The table as it is promised, written out by hand: it is compared with the code, not made from it.
TABLE = {
    (
        "NOT_ADMITTED",
        "ADMITTED",
    ): "current policy, identity and an unused approval of this digest",
    (
        "NOT_ADMITTED",
        "NEEDS_REAUTHORISATION",
    ): "approval expired, revoked, of an older policy, or used by another operation",
    ("ADMITTED", "EFFECT_PENDING"): "request dispatched under the admission",
    ("EFFECT_PENDING", "EFFECT_COMMITTED"): "receipt or readback owned by the target",
    ("EFFECT_PENDING", "UNKNOWN_OUTCOME"): "ambiguous response and no readback",
    ("EFFECT_PENDING", "ADMITTED"): "the owner says absent or failed (retryable)",
    ("EFFECT_PENDING", "NEEDS_REAUTHORISATION"): "the owner refuses on authority",
    ("EFFECT_COMMITTED", "OUTCOME_VERIFIED"): "postcondition read back independently",
    ("UNKNOWN_OUTCOME", "EFFECT_COMMITTED"): "a person's disposition or a new observation",
    ("UNKNOWN_OUTCOME", "ADMITTED"): "a person's disposition or a new observation",
    ("UNKNOWN_OUTCOME", "ABANDONED"): "a person's disposition or a new observation",
    ("NEEDS_REAUTHORISATION", "ADMITTED"): "a fresh approval",
    ("NOT_ADMITTED", "ABANDONED"): "an explicit decision",
    ("ADMITTED", "ABANDONED"): "an explicit decision",
    ("EFFECT_PENDING", "ABANDONED"): "an explicit decision",
    ("EFFECT_COMMITTED", "ABANDONED"): "an explicit decision",
    ("NEEDS_REAUTHORISATION", "ABANDONED"): "an explicit decision",
}
PAIRS = list(itertools.product(State, State))
OTHERS = [pair for pair in PAIRS if pair not in TABLE]


def test_the_table_has_these_rows_and_no_other() -> None:
    """A row that is added, dropped or given other evidence is a change of the contract."""

    assert {pair: evidence.value for pair, evidence in MOVES.items()} == TABLE


@pytest.mark.parametrize("pair", TABLE, ids="->".join)
def test_a_move_passes_on_its_evidence_and_on_no_other(pair: tuple[str, str]) -> None:
    """Evidence is not a comment: the wrong one is refused, and the error names the right one."""

    for evidence in Evidence:
        if evidence.value == TABLE[pair]:
            require_move(*pair, evidence)
        else:
            with pytest.raises(ForbiddenMove) as refused:
                require_move(*pair, evidence)
            assert TABLE[pair] in str(refused.value)


@pytest.mark.parametrize("pair", OTHERS, ids="->".join)
def test_every_other_move_is_refused_whatever_the_evidence(pair: tuple[State, State]) -> None:
    """47 pairs of 64, among them every state to itself."""

    for evidence in Evidence:
        with pytest.raises(ForbiddenMove):
            require_move(*pair, evidence)


def test_the_pairs_add_up() -> None:
    """The two tests above leave nothing out."""

    assert (len(PAIRS), len(TABLE), len(OTHERS)) == (64, 17, 47)
    assert ("UNKNOWN_OUTCOME", "EFFECT_PENDING") in OTHERS


def test_nothing_leaves_a_final_state() -> None:
    """Complete and abandoned stay so."""

    assert {"OUTCOME_VERIFIED", "ABANDONED"} == FINAL
    assert [pair for pair in MOVES if pair[0] in FINAL] == []


def test_a_state_that_is_not_of_the_set_is_an_error() -> None:
    """The set is closed: a misspelt state is no state."""

    with pytest.raises(ValueError, match="PENDING"):
        require_move("PENDING", "ADMITTED", Evidence.DISPATCHED)


def test_a_forbidden_move_changes_nothing_and_leaves_an_event(desk: Any) -> None:
    """Fails closed: the transaction is undone, the attempt is on record."""

    parties = desk.parties()
    parties = parties.claim(parties.journal.workflow("order-1001"), "order-1001")
    desk.put_in_state("UNKNOWN_OUTCOME")

    def a_timer_fires() -> None:
        with parties.showing_refusals("order-1001"), atomic(parties.journal.db):
            parties.note(desk.operation, "timer_fired")
            parties.move(desk.operation, State.EFFECT_PENDING, Evidence.DISPATCHED)

    with pytest.raises(ForbiddenMove):
        a_timer_fires()

    assert desk.state == "UNKNOWN_OUTCOME"
    assert desk.events("timer_fired", "moved") == []
    assert desk.events("move_refused") == [
        {
            "because": "UNKNOWN_OUTCOME -> EFFECT_PENDING is not a move: read the effect and decide again",
        }
    ]


def test_a_move_without_the_claim_is_refused(desk: Any) -> None:
    """A worker that was taken over may not even make a move that the table has."""

    parties = desk.parties()
    held = parties.claim(parties.journal.workflow("order-1001"), "order-1001")
    held.claim(parties.journal.workflow("order-1001"), "order-1001")

    with pytest.raises(StaleClaim), atomic(parties.journal.db):
        held.move(desk.operation, State.ADMITTED, Evidence.CURRENT_APPROVAL)

    assert desk.state == "NOT_ADMITTED"


@pytest.mark.parametrize(
    ("state", "progress"),
    [
        ("NOT_ADMITTED", "intent"),
        ("NEEDS_REAUTHORISATION", "intent"),
        ("ADMITTED", "admitted"),
        ("EFFECT_PENDING", "admitted"),
        ("UNKNOWN_OUTCOME", "admitted"),
        ("ABANDONED", "admitted"),
        ("EFFECT_COMMITTED", "effect_recorded"),
        ("OUTCOME_VERIFIED", "complete"),
    ],
)
def test_progress_claims_an_effect_only_where_one_was_recorded(state: str, progress: str) -> None:
    """The decision table's first column, for every state."""

    assert progress_of(state) == progress


def test_two_states_have_names_for_people() -> None:
    """Waiting for a person, and complete; the rest is shown as it is."""

    shown = {state: phase_of(state, waits_for_approval=True) for state in State}

    assert {state: name for state, name in shown.items() if state != name} == {
        "NOT_ADMITTED": "pending_approval",
        "OUTCOME_VERIFIED": "COMPLETE",
    }
    assert phase_of("NOT_ADMITTED") == "NOT_ADMITTED"
