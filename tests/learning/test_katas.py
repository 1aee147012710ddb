"""A kata's folder is read as data, and every fault names the file, the field and the cure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labkit.errors import BadKata, UnknownName
from labkit.learning import katas
from labkit.learning.katas import Kata

ROOT = Path(__file__).parents[2]


def test_a_whole_folder_is_a_kata(kata: Kata) -> None:
    assert (kata.slug, kata.part, kata.minutes, kata.points) == ("k01_small", 1, 20, 10)
    assert [(field.name, field.kind) for field in kata.fields] == [
        ("effects", "integer"),
        ("finished", "boolean"),
        ("who", "choice"),
    ]
    assert kata.misconception("effects", 2) == "One call, one effect."
    assert kata.misconception("effects", 3) == ""


SPOILT = {
    "a field is missing": ("minutes = 20\n", "", "lacks the field `minutes`"),
    "a field is unknown": ("points = 10", "points = 10\npionts = 5", "unknown field `pionts`"),
    "a number is text": ("part = 1", 'part = "1"', "field `part` is '1': give a whole number from 1 to 6"),
    "a number is a boolean": ("part = 1", "part = true", "field `part` is True"),
    "a number is out of range": ("minutes = 20", "minutes = 61", "whole number from 1 to 60"),
    "a title is no question": ("Did it happen?", "It happened.", "end it with a question mark"),
    "a hint is empty": ('"Look again."', '""', "field `hints`"),
    "a kind is unknown": ('type = "boolean"', 'type = "yes"', "fields 2 field `type` is 'yes'"),
    "choices are missing": ('choices = ["ledger", "journal"]\n', "", "fields 3 lacks the field `choices`"),
    "a name is reserved": ('name = "who"', 'name = "because"', "give a free Python name"),
    "a name is taken": ('name = "who"', 'name = "effects"', "names the field effects twice"),
    "a misconception is about nothing": (
        'field = "effects"',
        'field = "causes"',
        "field `field` is 'causes'",
    ),
    "a misconception is of another kind": ("answer = 2", 'answer = "2"', "field `answer` is '2'"),
    "a belief is unknown": ("answer = 2", 'answer = 2\nbelief = "agian"', "field `belief` is 'agian'"),
    "the author is missing": ("[author]", "[writer]", "lacks the field `author`"),
    "a boundary is unknown": ("effect.committed", "effect.comitted", "field `boundary` is 'effect.comitted'"),
    "an exercise is no name": (
        'exercise = "resume"',
        'exercise = "re sume"',
        "field `exercise` is 're sume'",
    ),
    "it is not TOML": ("part = 1", "part 1", "is not TOML"),
}


@pytest.mark.parametrize(("old", "new", "message"), SPOILT.values(), ids=SPOILT.keys())
def test_a_spoilt_file_is_named_with_its_field(kata_folder: Path, old: str, new: str, message: str) -> None:
    file = kata_folder / "kata.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(BadKata, match=re.escape(message)) as raised:
        katas.load(kata_folder)
    assert raised.value.message.startswith("k01_small/kata.toml")
    assert raised.value.cure


@pytest.mark.parametrize("slug", katas.names(ROOT))
def test_every_wrong_answer_that_is_explained_names_its_belief(slug: str) -> None:
    """Else it would be missing, without a word, where a learner's answers are counted by belief."""
    kata = katas.load(ROOT / "katas" / slug)

    assert [one for one in kata.misconceptions if not one.belief] == []


def test_a_missing_file_is_named(kata_folder: Path) -> None:
    (kata_folder / "checks.py").unlink()

    with pytest.raises(BadKata, match=r"k01_small lacks the file checks\.py"):
        katas.load(kata_folder)


def test_a_kata_is_found_by_its_number(kata_folder: Path) -> None:
    root = kata_folder.parents[1]
    (root / "katas" / "start_here").mkdir()

    assert katas.names(root) == ["k01_small"]
    assert katas.find("k01", root).slug == katas.find("k01_small", root).slug == "k01_small"


@pytest.mark.parametrize("name", ["k02", "k0", "", "K01_small", "../k01_small", "start_here"])
def test_an_unknown_kata_names_those_that_there_are(kata_folder: Path, name: str) -> None:
    with pytest.raises(UnknownName, match="choose one of k01_small"):
        katas.find(name, kata_folder.parents[1])


def test_a_module_that_raises_is_a_bad_kata(kata: Kata) -> None:
    (kata.folder / "checks.py").write_text("1 / 0\n", encoding="utf-8")

    with pytest.raises(BadKata, match=r"k01_small/checks\.py cannot be imported \(ZeroDivisionError"):
        katas.load_module(kata, "checks")
