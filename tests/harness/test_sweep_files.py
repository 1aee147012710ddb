"""Sweep files: what is read back is what was written, and anything else is refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadPacket, OutputInUse
from labkit.grading.sweeping import Request, sweep
from labkit.harness import sweep_files
from labkit.harness.pool import Pool
from labkit.harness.workers import mutant_new_key, payment
from labkit.observations import Sweep

PAYMENT = f"{payment.__file__}:pay"
NEW_KEY = f"{mutant_new_key.__file__}:resume"


@pytest.fixture(scope="module")
def swept(pool: Pool) -> Sweep:
    """A wrong handler, killed at its boundaries."""
    return sweep(Request(PAYMENT, resume=NEW_KEY, points=("boundary",)), pool)


@pytest.fixture(scope="module")
def explored(pool: Pool) -> Sweep:
    """The same with its crash graph."""
    return sweep(Request(PAYMENT, resume=NEW_KEY, points=("boundary",), depth="all"), pool)


@pytest.mark.parametrize("depth", ["swept", "explored"])
def test_a_sweep_comes_back_as_it_was(depth: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every field, the crash graph included, and so the same judgement years later."""
    given: Sweep = request.getfixturevalue(depth)
    sweep_files.write(tmp_path / "sweep.json", given)

    found = sweep_files.read(tmp_path / "sweep.json")

    assert found == given
    assert [one.same_bytes_as for one in found.results] == [one.same_bytes_as for one in given.results]
    assert found.recoveries == given.recoveries < len(given.results)
    assert not found.passed
    assert found.verdicts == {"exactly_one", "duplicate"}


def test_which_crashes_were_spared_comes_back(swept: Sweep) -> None:
    first, second, *others = swept.results
    given = replace(swept, results=(first, replace(second, is_killed=False), *others))

    found = sweep_files.from_json(sweep_files.to_json(given))

    assert [one.is_killed for one in found.results] == [True, False, *(True for _ in others)]


def test_a_file_of_the_first_version_has_a_recovery_for_every_point(swept: Sweep, tmp_path: Path) -> None:
    """It was written when none were shared, and knew no field for it."""
    document = sweep_files.to_json(swept)
    for result in (document["sweep"]["control"], *document["sweep"]["results"]):
        del result["same_bytes_as"], result["is_killed"]
    document["schema_version"] = 1
    del document["digest"]
    (tmp_path / "old.json").write_text(
        json.dumps({**document, "digest": sweep_files.digest_of(document)}), encoding="utf-8"
    )

    found = sweep_files.read(tmp_path / "old.json")

    assert found == swept
    assert found.recoveries == len(found.results)
    assert all(one.is_killed for one in found.results)


def test_two_writes_of_one_sweep_are_the_same_bytes(swept: Sweep, tmp_path: Path) -> None:
    """Also where the sources stand in another order, as a set of files may."""
    turned = replace(swept, sources=dict(reversed(swept.sources.items())))
    assert len(swept.sources) == 2
    sweep_files.write(tmp_path / "one.json", swept)
    sweep_files.write(tmp_path / "two.json", turned)

    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_nothing_is_overwritten(swept: Sweep, tmp_path: Path) -> None:
    """A file that is there stays as it is, whatever it holds."""
    path = tmp_path / "sweep.json"
    path.write_text("mine", encoding="utf-8")

    with pytest.raises(OutputInUse, match=r"sweep\.json exists already"):
        sweep_files.write(path, swept)
    assert path.read_text(encoding="utf-8") == "mine"


def test_reading_one_back_needs_no_user_interface(swept: Sweep, tmp_path: Path) -> None:
    """A program that only judges loads neither rich nor jinja2."""
    sweep_files.write(tmp_path / "sweep.json", swept)
    program = (
        "import sys; from pathlib import Path; from labkit.harness import sweep_files;"
        "print(sorted(sweep_files.read(Path(sys.argv[1])).verdicts));"
        "sys.exit(bool({'rich', 'jinja2', 'drawsvg', 'labkit.ui'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "sweep.json"], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout.strip()) == (0, "['duplicate', 'exactly_one']")


def test_what_no_file_can_hold_is_written_as_a_question_mark(swept: Sweep, tmp_path: Path) -> None:
    """A handler may return half a surrogate pair."""
    odd = replace(swept, control=replace(swept.control, promised=("a\ud800b",)))
    sweep_files.write(tmp_path / "sweep.json", odd)

    assert sweep_files.read(tmp_path / "sweep.json").control.promised == ("a?b",)


def test_one_changed_byte_is_noticed(swept: Sweep, tmp_path: Path) -> None:
    """A failing verdict that somebody has painted over."""
    path = tmp_path / "sweep.json"
    sweep_files.write(path, swept)
    path.write_text(
        path.read_text(encoding="utf-8").replace('"duplicate"', '"duplicatf"', 1), encoding="utf-8"
    )

    with pytest.raises(BadPacket, match=r"sweep\.json: it does not fit its digest"):
        sweep_files.read(path)


def changed(swept: Sweep, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """A document with a change in its sweep, and a digest that fits it."""
    document = sweep_files.to_json(swept)
    change(document["sweep"])
    document.pop("digest")
    return {**document, "digest": sweep_files.digest_of(document)}


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a field is gone": (lambda s: s["results"][3].pop("command"), r"results\[3\] lacks the field `command`"),
    "a field is new": (lambda s: s.update(mood="good"), "sweep has an unknown field `mood`"),
    "a count is text": (
        lambda s: s["control"]["happened"].update({"charge order-1001": "1"}),
        r"control\.happened\.charge order-1001 is no int: '1'",
    ),
    "a truth is a number": (
        lambda s: s["control"]["verdicts"][0].update(passed=1),
        r"control\.verdicts\[0\]\.passed is no bool: '1'",
    ),
    "an outcome nobody knows": (
        lambda s: s["control"].update(outcome="fine"),
        r"control\.outcome is 'fine', none of judged, ",
    ),
    "a failure that passes": (
        lambda s: s["control"]["verdicts"][0].update(name="duplicate"),
        r"control\.verdicts\[0\]\.passed is True for duplicate",
    ),
    "a worker without a function": (lambda s: s.update(first=["a.py"]), r"first is not \[file, function\]"),
    "points that are no list": (lambda s: s.update(points={}), "points is no list"),
    "a graph without an end": (lambda s: s.update(closure={"closed": True}), r"closure\.states is no list"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_value_that_cannot_be_is_refused_by_its_place(
    change: Callable[[dict[str, Any]], object], message: str, swept: Sweep
) -> None:
    """Even with a digest that fits: the file may come from another program."""
    document = changed(swept, change)

    with pytest.raises(BadPacket, match=message) as raised:
        sweep_files.from_json(document)
    assert raised.value.cure


NO_SWEEP = {
    "no JSON": ("{", "is not JSON"),
    "a list": ("[]", "it is not a sweep"),
    "another file": ('{"format": "labkit evidence packet"}', "it is not a sweep"),
    "a later version": (
        json.dumps({"format": sweep_files.FORMAT, "schema_version": 3}),
        "it has schema version 3, not 2",
    ),
    "no sweep in it": (
        json.dumps({"format": sweep_files.FORMAT, "schema_version": 1}),
        "it does not fit its digest",
    ),
}


@pytest.mark.parametrize(("text", "message"), NO_SWEEP.values(), ids=NO_SWEEP.keys())
def test_what_is_no_sweep_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    """With the file's name and what to do instead."""
    path = tmp_path / "given.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(BadPacket, match=rf"given\.json.*{message}: \w+"):
        sweep_files.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """As any other wrong use: exit code 2."""
    with pytest.raises(BadPacket, match=r"nowhere\.json cannot be read") as raised:
        sweep_files.read(tmp_path / "nowhere.json")
    assert raised.value.exit_code == 2
