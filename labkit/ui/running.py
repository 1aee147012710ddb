"""Running a kata's notebook through papermill, and reading from its outputs what came of it.

Papermill marks cells completed that never ran after a dead kernel, so its status is not read: what
counts is that every cell ran, none left an error, and the checks left their results.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from labkit.errors import HarnessError
from labkit.ui.checked import RESULT_TYPE

CELL_DEADLINE_S = 120


@dataclass(frozen=True, slots=True)
class Executed:
    """A notebook after its run.  `problem` is empty where it ran from the first cell to the last."""

    notebook: NotebookNode
    problem: str

    def results(self, kind: str) -> list[dict[str, Any]]:
        """What the checks of one kind (`checked`, `swept`) left for programs, in order."""
        found = [output.get("data", {}).get(RESULT_TYPE) for output in _outputs(self.notebook)]
        return [result for result in found if result is not None and result["kind"] == kind]


def execute(notebook: NotebookNode, predictions: Mapping[str, Any] | None, folder: Path) -> Executed:
    """Run a notebook in the folder `folder`, with a throw-away workspace.

    Raises:
        HarnessError: no kernel could be started.
    """
    # Imported here: papermill takes most of a second, and `lab --help` needs none of it.
    import papermill  # type: ignore[import-untyped]
    from papermill.exceptions import PapermillExecutionError  # type: ignore[import-untyped]

    parameters = {} if predictions is None else {"predictions": dict(predictions)}
    with tempfile.TemporaryDirectory(prefix="lab-run-") as scratch, _environment(scratch), _quiet():
        output = Path(scratch) / "executed.ipynb"
        try:
            papermill.execute_notebook(
                notebook, output, parameters=parameters, kernel_name="python3", cwd=folder, log_output=False,
                progress_bar=False, record_timing=False, execution_timeout=CELL_DEADLINE_S,
                extra_arguments=["--log-level=CRITICAL"],  # else it remarks on loopback and on its own shutdown
            )  # fmt: skip
            problem = ""
        except PapermillExecutionError as error:
            problem = f"{error.ename}: {error.evalue}"
        except (RuntimeError, TimeoutError, OSError) as error:
            problem = f"{type(error).__name__}: {error}"
        if not output.exists():
            raise HarnessError(f"no notebook was run ({problem})", "check that ipykernel starts: lab doctor")
        executed = _read(output)
    return Executed(executed, problem or _what_is_wrong(executed))


def _read(path: Path) -> NotebookNode:
    import nbformat

    read: Any = nbformat.read
    notebook: NotebookNode = read(path, as_version=4)
    return notebook


def _what_is_wrong(notebook: NotebookNode) -> str:
    """Why a notebook did not run to its end, empty where it did; papermill's own word is not asked."""
    for output in _outputs(notebook):
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        if cell.execution_count != number:
            return f"code cell {number} was not run"
    return ""


def _outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield from cell.outputs


@contextmanager
def _environment(scratch: str) -> Iterator[None]:
    """What the kernel inherits: a workspace that goes with the run, and this environment's own kernel.

    Nobody sits in front of it, also where `lab run` is typed into a cell of a notebook.
    """
    wanted = {"LAB_WORKSPACE": str(Path(scratch) / "workspace"), "JUPYTER_PREFER_ENV_PATH": "1"}
    before = {name: os.environ.get(name) for name in (*wanted, "JPY_SESSION_NAME")}
    os.environ.update(wanted)
    os.environ.pop("JPY_SESSION_NAME", None)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _quiet() -> Iterator[None]:
    """Papermill and the kernel's client report on themselves; a run's own table says all that matters."""
    loggers = [logging.getLogger(name) for name in ("papermill", "traitlets", "jupyter_client", "blib2to3")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
