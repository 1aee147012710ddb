"""The kill scrubber: a slider over an exercise's crash points; letting go runs that one real trial.

A view: what it shows is the trial that has just been run.  The same picture stays in the notebook's file.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import ipywidgets as widgets  # type: ignore[import-untyped]

from labkit.errors import LabError
from labkit.observations import Sweep
from labkit.ui import lasting, point, theme
from labkit.ui.lasting import NOTHING, Lasting
from labkit.ui.point import SeenTrial

ASKS = "Kill at crash point"
NOWHERE = "0 no kill"
AGAIN = "To move the kill, run the cells above, then this one."
# While a trial runs the one before it stays, faded, so that nothing jumps.
STYLE = f"""<style>
.labkit-scrubber {{ border-left: 3px solid {theme.BLUE}; padding: 2px 0 6px 14px; overflow: visible; }}
.labkit-scrubber > .widget-hbox {{ width: 100%; align-items: center; overflow: visible; }}
.labkit-scrubber .widget-text {{ width: auto; flex: none; }}
.labkit-scrubber .widget-text > .widget-label {{ font: 13px/1.5 {theme.FONT}; width: auto; margin-right: 8px; }}
.labkit-scrubber .widget-text > input {{ width: 5em; flex: none; }}
.labkit-scrubber .widget-hslider {{ flex: 1; min-width: 0; height: auto; overflow: visible; align-items: center; }}
.labkit-scrubber .widget-hslider > .widget-readout {{
  font: 13px/1.5 {theme.MONO}; width: 20em; max-width: none; text-align: left; margin-left: 12px;
}}
.labkit-scrubber > .widget-html, .labkit-scrubber > .widget-html > .widget-html-content {{ width: 100%; min-width: 0; }}
.labkit-scrubber > .widget-html > .widget-html-content {{ line-height: 1.4; overflow-x: auto; }}
.labkit-scrubber :is(.noUi-handle, input):focus-visible {{ outline: 2px solid {theme.BLUE}; outline-offset: 1px; }}
.labkit-busy {{ opacity: 0.45; }}
</style>"""


class Scrubber:
    """A slider from 0 (no kill) to the last crash point of `sweep`; `trial` carries one out, first at `stands`."""

    def __init__(self, sweep: Sweep, trial: Callable[[int], SeenTrial], stands: int) -> None:
        self._trial = trial
        self.kept = lasting.kept(AGAIN, NOTHING)
        self._labels = {0: NOWHERE} | {one.number: one.label for one in sweep.points}
        self.slider = widgets.SelectionSlider(
            options=[(label, number) for number, label in self._labels.items()], value=stands, continuous_update=False
        )  # fmt: skip
        # The slider's handle has no name for a screen reader; a native field with a label has.
        self.number = widgets.BoundedIntText(value=stands, min=0, max=len(sweep.points), description=ASKS)
        self.status = widgets.HTML()
        self.shown = widgets.HTML()
        self.slider.observe(lambda change: self._kill_at(change["new"]), "value")
        widgets.link((self.number, "value"), (self.slider, "value"))
        moved = widgets.HBox([self.number, self.slider])
        self.box = widgets.VBox([widgets.HTML(STYLE), moved, self.status, self.shown])
        self.box.add_class("labkit-scrubber")
        self._lasting = Lasting(self.box)
        self._kill_at(stands)

    def _ipython_display_(self) -> None:
        """As IPython asks for it: the slider, then what stays of it."""
        self._lasting.show(self.kept)

    def _kill_at(self, number: int) -> None:
        what = (
            f"Killing the first run at point {self._labels[number]}"
            if number
            else "Running it without a kill"
        )
        self._say(escape(f"{what}, then resuming ..."))
        self.shown.add_class("labkit-busy")
        try:
            seen = self._trial(number)
        except LabError as error:  # the picture before it stays, faded: it is not this point's
            self._say(theme.inline(f"{type(error).__name__}: {error}"))
            return
        self._say(point.headline(seen))
        self.shown.value = point.body(seen)
        self.shown.remove_class("labkit-busy")
        self.kept = lasting.kept(AGAIN, point.bundle(seen))
        self._lasting.keep(self.kept)

    def _say(self, html: str) -> None:
        # A screen reader announces a change of what has the role of a status.
        self.status.value = f'<div role="status">{theme.paragraph(html)}</div>'
