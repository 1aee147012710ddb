"""What the tests of katas share: a kata's runs, and its exercise swept with an answer in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.grading import engine
from labkit.grading.stage import Stage, load_stage
from labkit.harness import sweeps
from labkit.harness.pool import Pool
from labkit.observations import Observation, Sweep
from labkit.ui import editions


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Stage:
    """The kata that the module names, loaded."""
    return load_stage(request.module.KATA)


@pytest.fixture(scope="module")
def swept(stage: Stage) -> Iterator[Callable[..., Sweep]]:
    """Sweeps an answer as the exercise is swept; further arguments change the job."""
    with Pool() as pool:

        def run(answer: Path, depth: str = "1", **change: Any) -> Sweep:
            with sweeps.scratch() as scratch:
                job = engine.job_of(stage, stage.exercise(answer), Path(scratch))
                return sweeps.sweep(replace(job, **change), pool, depth)

        yield run


@pytest.fixture(scope="module")
def runs(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Observation]:
    """The lesson's runs."""
    return {name: stage.run(name, tmp_path_factory.mktemp(name) / "world") for name in stage.runs}


@pytest.fixture(scope="module")
def answers(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The exercise's cell as a file, in both editions: `solution` and `starter`."""
    folder = tmp_path_factory.mktemp("answers")
    found = {"solution": editions.lesson(stage.kata), "starter": editions.learner(stage.kata)}
    for name, notebook in found.items():
        cell = next(cell for cell in notebook.cells if "exercise" in cell.metadata.tags)
        (folder / f"{name}.py").write_text(cell.source + "\n", encoding="utf-8")
    return {name: folder / f"{name}.py" for name in found}
