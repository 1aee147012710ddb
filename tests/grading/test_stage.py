"""A kata's two modules are loaded and checked before anything is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from labkit.errors import BadKata, UnknownName
from labkit.grading import engine
from labkit.grading.stage import Stage, load_stage
from labkit.learning import katas

from .classes import solution

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "katas" / "k03_missing_ack"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the model kata, to be spoilt."""
    copy = tmp_path / "katas" / MODEL.name
    shutil.copytree(MODEL, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def stage() -> Stage:
    """The model kata."""
    return load_stage(katas.load(MODEL))


SPOILT = {
    "no runs": ("scenario.py", "RUNS = {", "WALKS = {", r"scenario\.py lacks `RUNS`"),
    "no boundaries": ("scenario.py", "BOUNDARIES = (", "BORDERS = (", r"scenario\.py lacks `BOUNDARIES`"),
    "no exercise": ("scenario.py", "def exercise", "def task", r"scenario\.py lacks `exercise`"),
    "no observed": ("checks.py", "def observed", "def seen", r"checks\.py lacks `observed`"),
    "a contract of no run": ("checks.py", '"killed": ', '"kiled": ', r"CONTRACT names the run kiled"),
    "a syntax error": ("checks.py", "def observed", "def observed(", r"checks\.py cannot be imported"),
}


@pytest.mark.parametrize(("file", "old", "new", "message"), SPOILT.values(), ids=SPOILT.keys())
def test_a_module_that_lacks_something_is_named(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(BadKata, match=message):
        load_stage(katas.load(folder))


def test_only_what_kills_stands_behind_the_prediction(stage: Stage) -> None:
    assert {name: stage.kills(name) for name in stage.runs} == {
        "uninterrupted": False,
        "killed": True,
        "new_key": True,
    }
    with pytest.raises(UnknownName, match="choose one of uninterrupted, killed, new_key"):
        stage.kills("slain")


def test_the_facts_of_k03_come_out_of_its_runs(stage: Stage, tmp_path: Path) -> None:
    """At the interruption 1 effect and 0 checkpoints; then 1 and complete, or 2 under distinct keys and exit 0."""

    runs = {name: stage.run(name, tmp_path / name) for name in stage.runs}
    seen = {name: one.value for name, one in stage.observed(runs).items()}

    assert seen == {
        "payments_at_the_kill": 1,
        "checkpoints_at_the_kill": 0,
        "payments_after_resume": 1,
        "payments_with_new_key": 2,
        "exit_code_with_new_key": 0,
    }
    assert len(runs["killed"].final["journal"]["checkpoints"]) == 1
    keys = [row["operation_id"] for row in runs["new_key"].final["payments"]["effects"]]
    assert len(set(keys)) == 2
    assert {name: run.runs[0].returncode for name, run in runs.items()} == {
        "uninterrupted": 0,
        "killed": -9,
        "new_key": -9,
    }


def test_the_solution_passes_everywhere(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(solution(), encoding="utf-8")

    sweep = engine.grade(stage, tmp_path / "answer.py")

    assert (sweep.passed, sweep.verdicts) == (True, {"exactly_one"})
    assert len(sweep.results) == len(sweep.points) > 3


MUTANTS = {
    "new_key": ("duplicate", "effect.committed"),
    "gives_up": ("stuck", "effect.requested"),
    "believes_the_request": ("phantom_progress", "effect.requested"),
}


@pytest.mark.parametrize(("name", "verdict", "place"), [(name, *how) for name, how in MUTANTS.items()])
def test_each_mutant_is_caught_where_it_is_wrong(stage: Stage, name: str, verdict: str, place: str) -> None:
    """And passes at the last boundary, where nothing is left to do."""

    sweep = engine.grade(stage, MODEL / "mutants" / f"{name}.py")

    at = {result.schedule[-1].label.split()[1]: result.names for result in sweep.results}
    assert at[place] == (verdict,)
    assert at["checkpoint.recorded"] == ("exactly_one",)
    assert sweep.verdicts == {verdict, "exactly_one"}
    assert not sweep.passed


def test_every_mutant_is_in_the_table_above(stage: Stage) -> None:
    assert sorted(MUTANTS) == [path.stem for path in stage.kata.mutants]
