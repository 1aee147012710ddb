"""The kill scrubber: a slider over an exercise's crash points; letting go runs that one real trial.

A view: what it shows is the trial that has just been run, and nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from labkit.errors import LabError
from labkit.observations import PointResult, Sweep
from labkit.ui import point, theme

HELD = "Here was the kill scrubber. Run this cell again to move it."


class Scrubber:
    """A slider from 0 (no kill) to the last crash point of `sweep`; `trial` carries one out."""

    def __init__(self, sweep: Sweep, trial: Callable[[int], PointResult]) -> None:
        self._sweep = sweep
        self._trial = trial
        self.slider = widgets.IntSlider(
            value=0, min=0, max=len(sweep.points), continuous_update=False,
            description="Kill at crash point (0: nowhere)", style={"description_width": "initial"},
            layout=widgets.Layout(width="min(40em, 98%)"),
        )  # fmt: skip
        self.shown = widgets.HTML()
        self.slider.observe(lambda change: self._kill_at(change["new"]), "value")
        self.box = widgets.VBox([self.slider, self.shown])
        self._show(sweep.control)

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, Any]:
        """As IPython asks for it."""
        return dict(self.box._repr_mimebundle_()) | {"text/plain": HELD}

    def _kill_at(self, number: int) -> None:
        self._say(theme.paragraph(f"Killing a process at point {number}, then resuming ..."))
        try:
            self._show(self._trial(number))
        except LabError as error:
            self._say(theme.note(theme.inline(f"{type(error).__name__}: {error}")))

    def _show(self, result: PointResult) -> None:
        self._say(point.source(self._sweep, result) + point.bundle(result)["text/html"])

    def _say(self, html: str) -> None:
        self.shown.value = f'<div role="status">{html}</div>'
