"""The named boundaries: a closed vocabulary between the protocol, the harness and the reader."""

from __future__ import annotations

import re

import pytest

from labkit.boundaries import SENTENCES, Boundary, nowhere


def test_every_boundary_has_a_sentence_of_its_own() -> None:
    """Nothing can be killed at a place that nobody described."""

    assert set(Boundary) == set(SENTENCES)
    assert len(SENTENCES) == len(set(SENTENCES.values()))


@pytest.mark.parametrize("boundary", Boundary)
def test_a_sentence_is_one_whole_line(boundary: Boundary) -> None:
    """It goes into a table: one line, a capital, a full stop."""

    assert re.fullmatch(r"[A-Z][^\n]*\.", boundary.sentence)


@pytest.mark.parametrize("boundary", Boundary)
def test_a_name_reads_as_subject_and_past_participle(boundary: Boundary) -> None:
    """`effect.committed`: what, and what has become of it."""

    assert re.fullmatch(r"[a-z]+\.[a-z_]+", boundary.value)


@pytest.mark.parametrize("boundary", Boundary)
def test_a_boundary_crosses_json_as_its_name(boundary: Boundary) -> None:
    """What is read back from a report or a packet is the same boundary."""

    assert boundary is Boundary(str(boundary))
    assert boundary == boundary.value


def test_in_production_a_boundary_passes_unnoticed() -> None:
    """`nowhere` has no effect and no answer."""

    assert [None] * len(Boundary) == [nowhere(boundary) for boundary in Boundary]
