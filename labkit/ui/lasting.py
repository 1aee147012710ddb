"""A widget in a cell's output, and beside it what stays in the notebook's file once kernel and widget are gone.

Widgets end with their kernel, and no file holds them; so what there is to read stands in a plain output of
the cell as well, which is seen where no widget is: in a reopened notebook, on a page, in an export.
"""

from __future__ import annotations

from html import escape
from typing import Any

from IPython import display

from labkit.ui import theme

Bundle = dict[str, Any]
NOTHING: Bundle = {"text/plain": "", "text/html": ""}
# Of widget and plain output a notebook shows one.  For a widget that is gone JupyterLab chooses no other
# part of its output: it leaves a panel that holds a line of text and no element, "model not found".
EITHER = """<style>
.jp-OutputArea:has(.labkit-live:not(.jupyter-widgets-disconnected)) .labkit-kept,
.jp-OutputArea:has(.labkit-kept) > .jp-OutputArea-child > .lm-Panel.jp-OutputArea-output:not(:has(*)),
.jp-OutputArea:has(.labkit-kept) .labkit-live.jupyter-widgets-disconnected { display: none; }
</style>"""


class Lasting:
    """One widget `box`, and the plain output beside it; nothing is shown before `show`."""

    def __init__(self, box: Any) -> None:
        self._box = box
        self._box.add_class("labkit-live")
        self._widget: Any = None
        self._output: Any = None

    def show(self, kept: Bundle) -> None:
        """Show the widget as an output of the running cell, then what stays of it."""
        show: Any = display.display  # IPython leaves it untyped
        # Where widgets are unknown the first output is nothing, and the second says so.
        self._widget = show(self._box._repr_mimebundle_() | NOTHING, raw=True, display_id=True)
        self._output = show(kept, raw=True, display_id=True)

    def keep(self, kept: Bundle) -> None:
        """From now on this stays."""
        if self._output is not None:
            self._output.update(kept, raw=True)

    def give_way(self, bundle: Bundle) -> None:
        """Close the widget; plain output stands in its place, and nothing beside it."""
        if self._widget is not None:
            self._widget.update(bundle, raw=True)
        self.keep(NOTHING)
        self._box.close()


def kept(again: str, bundle: Bundle) -> Bundle:
    """What stays in the notebook's file: how to go on, and `bundle`."""
    note = theme.note(escape(again), theme.BLUE)
    return {
        "text/plain": f"{again}\n\n{bundle['text/plain']}".strip(),
        "text/html": f'{EITHER}<div class="labkit-kept">{note}{bundle["text/html"]}</div>',
    }
