"""The notebooks that ship: both editions of every kata, run by the tools that learners and CI use."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from labkit.learning import katas
from labkit.learning.katas import Kata
from labkit.ui import editions, gate
from labkit.ui.checked import RESULT_TYPE

ROOT = Path(__file__).parents[2]
SLUGS = katas.names(ROOT)
LEARNERS = {slug: ROOT / "notebooks" / f"{slug}.ipynb" for slug in SLUGS}
SOLVED = {slug: ROOT / "katas" / slug / "solved.ipynb" for slug in SLUGS}

pytestmark = pytest.mark.filterwarnings("default")  # of the tools' own, not of ours


def kata_of(slug: str) -> Kata:
    return katas.load(ROOT / "katas" / slug)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def results(notebook: NotebookNode, kind: str) -> list[dict[str, Any]]:
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    found = [output.get("data", {}).get(RESULT_TYPE) for output in outputs]
    return [result for result in found if result and result["kind"] == kind]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of this test's own; kernels inherit it."""
    monkeypatch.setenv("LAB_WORKSPACE", str(tmp_path / "workspace"))
    return tmp_path / "workspace"


def run(path: Path, out: Path, **parameters: Any) -> NotebookNode:
    """Execute a notebook as papermill's own command does, and return it as far as it came."""
    with contextlib.suppress(PapermillExecutionError):
        papermill.execute_notebook(
            path, out, parameters=parameters, cwd=path.parent, progress_bar=False, execution_timeout=100
        )
    return read(out)


# --- the learner's edition ------------------------------------------------------------------


@pytest.mark.parametrize("slug", SLUGS)
def test_run_bare_it_stops_at_the_first_predict_cell(slug: str, tmp_path: Path, workspace: Path) -> None:
    """With one friendly line and no traceback; nothing was killed and nothing is sealed."""

    ran = run(LEARNERS[slug], tmp_path / "ran.ipynb")

    cells = [cell for cell in code_cells(ran) if "papermill-error-cell-tag" not in cell.metadata.tags]
    stops = [cell for cell in cells for output in cell.outputs if output.output_type == "error"]
    first = next(cell for cell in cells if "predict" in cell.metadata.tags)
    assert [cell.id for cell in stops] == [first.id]
    [error] = [output for output in first.outputs if output.output_type == "error"]
    assert error.ename == "NotSealed"
    assert error.traceback == [
        f"NotSealed: no prediction is sealed for {slug}: fill in each ... and run the cell again"
    ]
    assert all(cell.execution_count is None for cell in cells[cells.index(first) + 1 :])
    assert "SIGKILL" not in json.dumps(cells)
    assert katas_sealed(workspace) == []


def katas_sealed(workspace: Path) -> list[str]:
    from labkit.learning import predict

    with predict.journal(workspace) as journal:
        return [one.kata for one in journal.all()]


@pytest.mark.parametrize("slug", SLUGS)
def test_with_predictions_it_runs_to_its_end_unsolved(slug: str, tmp_path: Path, workspace: Path) -> None:
    """The prediction is checked, and the exercise is swept and fails, as it must."""

    ran = run(LEARNERS[slug], tmp_path / "ran.ipynb", predictions=dict(kata_of(slug).author))

    assert [
        output for cell in code_cells(ran) for output in cell.outputs if output.output_type == "error"
    ] == []
    assert [cell.execution_count for cell in code_cells(ran)] == list(range(1, len(code_cells(ran)) + 1))
    [checked] = results(ran, "checked")
    [swept] = results(ran, "swept")
    assert checked["contract_held"]
    assert not swept["passed"]
    assert katas_sealed(workspace) == [slug]


@pytest.mark.parametrize("slug", SLUGS[:1])
@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        (
            {"prediction": {}},
            "BadOption: unknown parameter `prediction`: a kata's only parameter is `predictions`",
        ),
        ({"predictions": {"sins": 1}}, "BadPrediction: kata {slug} does not ask for `sins`"),
    ],
)
def test_a_parameter_that_it_does_not_take_is_refused(
    slug: str, parameters: dict[str, Any], line: str, tmp_path: Path, workspace: Path
) -> None:
    """Papermill warns of the first and passes on the second."""

    ran = run(LEARNERS[slug], tmp_path / "ran.ipynb", **parameters)

    [error] = [output for cell in code_cells(ran) for output in cell.outputs if output.output_type == "error"]
    assert error.traceback[0].startswith(line.format(slug=slug))
    assert not workspace.exists()


@pytest.mark.parametrize("slug", SLUGS)
def test_nothing_leaks_into_it(slug: str) -> None:
    """No line of a solution, of a mutant or of the author, in no cell, output, attachment or metadata."""

    kata, learner = kata_of(slug), read(LEARNERS[slug])
    secrets = [*gate.solution_lines(kata), str(kata.author["because"])]

    everything = [text for part in parts(learner) for text in part.splitlines()]
    assert [secret for secret in secrets if any(secret in line for line in everything)] == []
    for cell in learner.cells:
        assert set(cell) <= {"id", "cell_type", "metadata", "source", "outputs", "execution_count"}
        assert set(cell.metadata) == {"name", "tags"}
        assert "solution" not in cell.metadata.tags
    for cell in code_cells(learner):
        assert (cell.outputs, cell.execution_count) == ([], None)
    assert set(learner.metadata) == {"kernelspec", "language_info"}


def parts(value: Any) -> Iterator[str]:
    """Every string within a notebook, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from parts(key)
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def test_the_leak_test_bites() -> None:
    kata = kata_of(SLUGS[0])
    secrets = gate.solution_lines(kata)
    lesson = [text for part in parts(editions.lesson(kata)) for text in part.splitlines()]

    assert len(secrets) > 3
    assert all(any(secret in line for line in lesson) for secret in secrets)


@pytest.mark.parametrize(
    "path", [*LEARNERS.values(), *SOLVED.values()], ids=lambda path: path.parent.name + path.stem
)
def test_papermill_and_jupyter_find_kernel_and_ids(path: Path) -> None:
    notebook = read(path)

    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec == {
        "name": "python3",
        "language": "python",
        "display_name": "Python 3 (ipykernel)",
    }
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


def test_the_first_notebook_runs_bare(tmp_path: Path, workspace: Path) -> None:
    ran = run(ROOT / "notebooks" / "00_start_here.ipynb", tmp_path / "ran.ipynb")

    table, sure = [output for cell in code_cells(ran) for output in cell.outputs]
    for slug in SLUGS:
        assert slug in table["data"]["text/plain"]
        assert any(f"]({slug}.ipynb)" in cell.source for cell in ran.cells)
    assert "No prediction was compared with the rows yet" in sure["data"]["text/html"]
    assert not workspace.exists()


# --- the solved edition ---------------------------------------------------------------------


@pytest.mark.parametrize("slug", SLUGS)
def test_the_solved_one_ran_from_the_first_cell_to_the_last(slug: str) -> None:
    """nbval does not compare a cell whose stored count is null, so that none may be."""

    solved = read(SOLVED[slug])

    assert [cell.execution_count for cell in code_cells(solved)] == list(
        range(1, len(code_cells(solved)) + 1)
    )
    assert [result["passed"] for result in results(solved, "swept")] == [True]
    assert [result["contract_held"] for result in results(solved, "checked")] == [True]


@pytest.mark.parametrize("slug", SLUGS)
def test_the_solved_one_holds_nothing_that_differs_from_run_to_run(slug: str) -> None:
    text = SOLVED[slug].read_text(encoding="utf-8")

    for trace in (str(ROOT), "/tmp/", "/dev/shm", "papermill", "iopub", '"0x', str(Path.home()) + "/"):
        assert trace not in text


def nbval(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """nbval as CI calls it, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "--nbval-cell-timeout=120",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    environment["LAB_WORKSPACE"] = str(folder / "workspace")
    return subprocess.run(
        [*command, str(path)], capture_output=True, text=True, timeout=110, cwd=ROOT, env=environment
    )


def test_nbval_fails_when_one_stored_output_was_changed(tmp_path: Path) -> None:
    """One digit in one table of one cell.  That nothing else differs, `make test` shows after the tests."""

    solved = read(SOLVED[SLUGS[0]])
    check = next(cell for cell in code_cells(solved) if cell.source == "kata.check()")
    [output] = check.outputs
    changed = output["data"]["text/html"].replace("<b>2</b>", "<b>1</b>")
    assert changed != output["data"]["text/html"]
    output["data"]["text/html"] = changed
    nbformat.write(solved, tmp_path / "changed.ipynb")

    found = nbval(tmp_path / "changed.ipynb", tmp_path)

    assert found.returncode == 1
    assert f"1 failed, {len(code_cells(solved)) - 1} passed" in found.stdout
