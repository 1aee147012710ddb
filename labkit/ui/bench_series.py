"""`lab bench`: what `lab run` adds to a notebook server's own price, over as many bare notebooks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from labkit.errors import HarnessError
from labkit.harness.bench.measures import Measure, measure
from labkit.learning import katas as series
from labkit.learning.katas import Kata
from labkit.ui import editions, running

V4: Any = nbformat.v4  # it brings no types along
# Before the lesson's first cell: every second in which trials run, in the kernel itself.
STOPWATCH = """
import time as _time
from labkit.grading import stage as _stage
from labkit.harness.pool import Pool as _Pool

_in_trials_s = 0.0

def _timed(call):
    def timed(*arguments, **more):
        global _in_trials_s
        began = _time.perf_counter()
        try:
            return call(*arguments, **more)
        finally:
            _in_trials_s += _time.perf_counter() - began
    return timed

def _timed_run(run):
    def timed(*arguments, **more):
        global _in_trials_s
        answers = iter(run(*arguments, **more))
        while True:
            began = _time.perf_counter()
            try:
                answer = next(answers)
            except StopIteration:
                return
            finally:
                _in_trials_s += _time.perf_counter() - began
            yield answer
    return timed

_stage.run_trial = _timed(_stage.run_trial)
_Pool.run = _timed_run(_Pool.run)
"""
READING = "print(f'IN_TRIALS {_in_trials_s}')"


def series_measures(rounds: int) -> Iterator[Measure]:
    """`lab run` over all katas, time in trials taken out, against bare one-cell notebooks."""
    katas = [series.find(name) for name in series.names()]
    ours, bare = [], []
    for _ in range(rounds):
        pairs = [(seconds_of_bare(kata.folder), seconds_of(kata)) for kata in katas]
        bare.append(sum(pair[0] for pair in pairs))
        ours.append(sum(pair[1] for pair in pairs))
    yield measure(f"lab run over {len(katas)} katas without their trials", ours, bare, at_most=1.6)


def seconds_of(kata: Kata) -> float:
    """One kata as `lab run` executes it, less its trials.  Raises: HarnessError: it did not run to its end."""
    notebook = with_stopwatch(editions.lesson(kata))
    began = time.perf_counter()
    executed = running.execute(notebook, kata.author, kata.folder)
    seconds = time.perf_counter() - began
    if executed.problem:
        raise HarnessError(f"{kata.slug} did not run ({executed.problem})", f"look at `lab run {kata.slug}`")
    said = executed.notebook.cells[-1].outputs[0].text
    return seconds - float(said.split()[1])


def with_stopwatch(notebook: NotebookNode) -> NotebookNode:
    """The notebook with a stopwatch around its trials: set in its first cell, read in its last."""
    for source, at in ((STOPWATCH, 0), (READING, len(notebook.cells) + 1)):
        notebook.cells.insert(at, V4.new_code_cell(source))
    return notebook


def seconds_of_bare(folder: Path) -> float:
    """A notebook with one cell that does nothing, run the same way."""
    notebook = V4.new_notebook(cells=[V4.new_code_cell("1 + 1")], metadata=editions.METADATA)
    began = time.perf_counter()
    running.execute(notebook, None, folder)
    return time.perf_counter() - began
