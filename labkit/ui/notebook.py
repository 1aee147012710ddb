"""What a lesson imports: open a kata, show source, predict, run, observe, check.

    from labkit.ui.notebook import open_kata, show

Values come back plain; how they look is registered with IPython in `formatters`.  Outside of IPython
everything works the same and prints nothing by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import BadOption, BadPrediction, NotRead, NotSealed, UnknownName
from labkit.grading.stage import Stage, load_stage
from labkit.learning import katas, predict, progress, typed
from labkit.learning.calibration import Review
from labkit.learning.check import Checked, with_reading
from labkit.learning.places import workspace_folder
from labkit.learning.predict import Sealed
from labkit.learning.readings import Reading, Unread
from labkit.observations import Observation, Sweep
from labkit.ui import answers, asking, formatters, learner, parameters, point
from labkit.ui.kills import Kills
from labkit.ui.one_line import in_one_line
from labkit.ui.point import SeenTrial
from labkit.ui.record import Record
from labkit.ui.seen import Seen
from labkit.ui.series import Series, series_of
from labkit.ui.source import show

if TYPE_CHECKING:
    from labkit.ui.scrubber import Scrubber

__all__ = ["OpenKata", "open_kata", "review", "series", "show"]


class OpenKata:
    """One kata, opened in a notebook or a plain script."""

    def __init__(self, stage: Stage, workspace: Path, injected: predict.Prediction | None) -> None:
        self._stage = stage
        self._kata = stage.kata
        self._workspace = workspace
        self._record = Record(stage.kata, workspace)
        self._injected = injected
        self._runs: dict[str, Observation] = {}
        self._swept: learner.Swept | None = None

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the kata's runs, in the order in which its lesson carries them out."""
        return tuple(self._stage.runs)

    @in_one_line
    def predict(self, **given: Any) -> Sealed:
        """Seal a prediction: every field by name, `certainty` and `because`; `...` is no answer yet.

        With nothing filled in it shows the prediction that is sealed already.

        Raises:
            NotSealed: nothing is filled in and nothing is sealed.
            BadPrediction: it is not whole, or answers what was not asked.
        """
        if self._injected is None and predict.is_blank(self._kata, given):
            return self._sealed_before()
        return self._record.seal(self._injected or predict.whole(self._kata, given))

    @in_one_line
    def run(self, name: str) -> Seen:
        """Carry out one of the kata's runs in a new folder of the workspace.

        Raises:
            NotSealed: it kills a process, and no prediction is sealed.
            UnknownName: the kata has no such run.
        """
        if self._stage.kills(name):
            self._record.sealed(f"run {name} kills a process", "seal your prediction first")
        observation = self._stage.run(name, learner.new_run_folder(self._workspace, self._kata.slug, name))
        self._runs[name] = observation
        return Seen(name, observation, self._stage.boundaries)

    @in_one_line
    def observe(self, **given: Any) -> Reading | Unread:
        """Keep what the rows of the runs say, every field by name; `...` is no answer yet.

        With nothing filled in it shows what was read after this prediction already.  Reading wrong costs
        nothing.  Where the prediction came as a parameter nobody is there to read, and it says so.

        Raises:
            NotSealed: no prediction is sealed.
            NotRead: nothing is filled in and nothing was read.
            UnknownName: a run has not been carried out yet.
            BadPrediction: it is not whole, or answers what was not asked.
        """
        sealed = self._record.sealed("there is nothing to read", "seal your prediction first")
        blank = predict.is_blank(self._kata, given, ())
        if blank and (kept := self._record.reading(sealed)) is not None:
            return kept
        if blank and self._injected is not None:
            return Unread(self._kata.slug)
        self._stage.require_all(self._runs)
        if blank:
            what = f"the rows of {self._kata.slug} have not been read yet"
            raise asking.stopped(
                NotRead, what, lambda forms, line: forms.ReadingForm(self._kata, self.observe, line, sealed)
            )
        return self._record.keep(sealed, given)

    @in_one_line
    def check(self, handler: Callable[..., Any] | None = None) -> Checked | Sweep:
        """Check prediction and reading; with a handler, kill and resume by it at every crash point.

        Raises:
            NotSealed: no prediction is sealed.
            UnknownName: a run has not been carried out yet.
            NotRead: the rows have not been read yet.
            BadHandler: the exercise's cell does not stand alone.
        """
        if handler is not None:
            path = answers.save(answers.source_of(handler, self._kata), self._kata, self._workspace)
            self._swept = learner.sweep(self._stage, path, self._workspace)
            return self._swept.sweep
        sealed = self._record.sealed("there is nothing to check", "seal your prediction first")
        checked = replace(self._stage.check(sealed.prediction, self._runs), earlier=self._record.earlier())
        if (reading := self._record.reading(sealed)) is not None:
            checked = with_reading(checked, reading.answers)
        elif self._injected is None:
            raise NotRead(
                f"the rows of {self._kata.slug} have not been read yet",
                "say what they say in kata.observe first",
            )
        with progress.progress(self._workspace) as opened:
            observed = {one.field: one.observed for one in checked.answers}
            opened.put_observed(self._kata.slug, observed, learner.now_ms())
        return checked

    @in_one_line
    def scrub(self, at: int | None = None) -> Scrubber | SeenTrial:
        """Kill the answer that was checked last at crash point `at`, 0 for none; without `at` by a slider.

        The slider stands where the learner left it, for an answer of other bytes where it first goes wrong.
        Where nobody could move one, it is the trial at that latter point.

        Raises:
            UnknownName: no answer was checked since the kata was opened.
            BadOption: there is no such point, or `at` is no whole number.
            BadHandler: the answer's file was edited since.
        """
        if self._swept is None:
            raise UnknownName("there is no answer to kill", f"kata.check({self._kata.exercise}) first")
        if at is not None and type(at) is not int:
            raise BadOption(f"`at` is {typed.shown(at)}", "give the number of a crash point, 0 for none")
        kills = Kills(self._stage, self._workspace, self._swept)
        if at is None and parameters.takes_widgets():
            from labkit.ui.scrubber import Scrubber

            return Scrubber(kills.swept.sweep, kills.look, kills.stands())
        return kills.trial(point.resting(kills.swept.sweep) if at is None else at)

    def _sealed_before(self) -> Sealed:
        what = f"no prediction is sealed for {self._kata.slug}"
        try:
            return self._record.sealed(what, asking.BY_CALL)
        except NotSealed as error:
            raise asking.stopped(
                NotSealed,
                error.message,
                lambda forms, line: forms.PredictionForm(
                    self._kata, self.predict, line, self._record.latest()
                ),
            ) from None


@in_one_line
def open_kata(
    name: str, predictions: Mapping[str, Any] | None = None, workspace: Path | None = None
) -> OpenKata:
    """Open one kata.  `predictions` is the notebook's parameter: a whole prediction by field, or None.

    A prediction that comes as a parameter is nobody's: without `LAB_WORKSPACE` it is sealed in a
    throw-away workspace that goes with this process, so that the learner's journal stays their own.

    Raises:
        UnknownName: there is no such kata.
        BadOption: the notebook was given a parameter that it does not take.
        BadPrediction: `predictions` is not whole, or answers what was not asked.
    """
    stage = load_stage(katas.find(name))
    if (shell := formatters.shell()) is not None:
        parameters.refuse_unknown_parameters(shell)
    injected = None
    if predictions is not None:
        if not isinstance(predictions, Mapping):
            raise BadPrediction("`predictions` is no table of answers", "give a value to each field by name")
        injected = predict.whole(stage.kata, predictions)
    if workspace is None:
        throw_away = injected is not None and "LAB_WORKSPACE" not in os.environ
        workspace = parameters.throw_away_workspace() if throw_away else workspace_folder()
    return OpenKata(stage, workspace, injected)


@in_one_line
def series() -> Series:
    """The katas that there are, and which of them the learner has predicted."""
    formatters.shell()
    return series_of(workspace_folder())


@in_one_line
def review() -> Review:
    """How sure the learner was and how right, over their first predictions.  Feedback, never a grade."""
    formatters.shell()
    return learner.review_of(workspace_folder())
