"""The forms for a prediction and for a reading: views over the journal, where somebody sits in front.

A form holds nothing.  What is typed goes to `kata.predict` or `kata.observe` by its button, and in the
form's place then stand the kept answers, as plain HTML that outlives kernel and widgets.  Until then the
notebook's file has what the form asks, and how to get it back.  Imported only where a notebook server
runs the kernel; everything works without ipywidgets, by the call.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from labkit.errors import BadPrediction, LabError
from labkit.learning.katas import Field, Kata
from labkit.learning.predict import CERTAINTIES, MORE
from labkit.learning.typed import from_text
from labkit.ui import asking, formatters, lasting, theme
from labkit.ui.lasting import Bundle, Lasting

BANDS = dict(zip(("less than 67 % sure", "67 to 80 % sure", "more than 80 % sure"), CERTAINTIES, strict=True))
AGAIN = f"To fill it in, run the cells above, then this one: its form comes back. Or {asking.BY_CALL}."
KEPT = "In your journal already:"
HOW_SURE, WHY = "How sure are you of all of it?", "Why? In a sentence; a wrong one costs nothing."
# Every question stands above its control and wraps; colours are the page's own, light or dark.
STYLE = f"""<style>
.labkit-form {{ border-left: 3px solid {theme.BLUE}; padding: 2px 0 6px 14px; overflow: visible; }}
.labkit-form > .widget-inline-hbox {{ flex-direction: column; align-items: flex-start; height: auto; width: 100%; }}
.labkit-form > .widget-inline-hbox > .widget-label {{
  font: 13px/1.5 {theme.FONT}; text-align: left; white-space: normal; width: auto; height: auto; max-width: none;
}}
.labkit-form > .widget-text > input {{ width: 9em; flex: none; }}
.labkit-form > .widget-dropdown > select {{ width: 20em; flex: none; height: 28px; }}
.labkit-form > .widget-textarea > textarea {{ width: min(44em, 95%); flex: none; }}
.labkit-form .widget-radio-box {{ width: auto; max-width: none; height: auto; margin: 0; }}
.labkit-form .widget-radio-box label {{ width: auto; }}
.labkit-form :is(input, textarea, select, button):focus-visible {{ outline: 2px solid {theme.BLUE}; }}
</style>"""


class Form:
    """A kata's questions as controls.  `keep` takes the answers by name and returns the journal's row.

    `before` is the row that the journal has already, of which the form's place tells once it is gone.
    """

    BUTTON = ""
    READY = ""  # what the status says when all is answered
    WAITS = ""  # what the notebook's file says in its place: how to get it back
    ON = ""  # what stands above the kept answers in its place

    def __init__(self, kata: Kata, keep: Callable[..., Any], line: str = "", before: Any = None) -> None:
        self._kata = kata
        self._keep = keep
        self._before = before
        self.controls = {field.name: _control(field) for field in kata.fields} | self._more()
        self.status = widgets.HTML()
        self.button = widgets.Button(description=self.BUTTON, button_style="primary")
        self.button.on_click(lambda _button: self._clicked())
        for control in self.controls.values():
            control.observe(lambda _change: self._tell(), "value")
        top = widgets.HTML(STYLE + (theme.note(theme.inline(line)) if line else ""))
        self.box = widgets.VBox([top, *self.controls.values(), self.button, self.status])
        self.box.add_class("labkit-form")
        self._lasting = Lasting(self.box)
        self._tell()

    def show(self) -> None:
        """Show the form as an output of the running cell."""
        self._lasting.show(lasting.kept(self.WAITS, self.as_text()))

    def asked(self) -> list[tuple[str, str]]:
        """Every question, with what it takes for an answer."""
        return [
            (field.label, field.wanted.replace("True or False", "yes or no")) for field in self._kata.fields
        ]

    def as_text(self) -> Bundle:
        """What it asks, and what the journal has already: to be read where no form is."""
        heads, asked = ("it asks", "your answer"), self.asked()
        plain = [theme.in_columns(heads, asked)]
        html = [theme.table(heads, [(theme.inline(label), escape(wanted)) for label, wanted in asked])]
        if self._before is not None:
            bundle = formatters.BUNDLES[type(self._before)](self._before)
            plain += [KEPT, bundle["text/plain"]]
            html += [theme.paragraph(escape(KEPT)), bundle["text/html"]]
        return {"text/plain": "\n\n".join(plain), "text/html": "".join(html)}

    def missing(self) -> list[str]:
        """What is still to be answered, one line each, in the kata's order."""
        return [line for field in self._kata.fields if (line := self._lacks(field))]

    def given(self) -> dict[str, Any]:
        """The answers by name.  Raises: BadPrediction: one is none of its field's kind."""
        return {field.name: self._answer(field) for field in self._kata.fields}

    def _more(self) -> dict[str, Any]:
        """The controls besides the kata's fields, by the names of what they ask for."""
        return {}

    def _lacks(self, field: Field) -> str:
        value = self.controls[field.name].value
        if value is None or value == "":
            return field.label
        try:
            self._answer(field)
        except BadPrediction:
            return f"{field.label}: give {field.wanted}"
        return ""

    def _answer(self, field: Field) -> Any:
        value = self.controls[field.name].value
        return from_text(field, value) if field.kind == "integer" else value

    def _tell(self) -> None:
        missing = self.missing()
        self.button.disabled = bool(missing)
        self._say(f"{len(missing)} still to answer; next: {missing[0]}" if missing else self.READY)

    def _say(self, text: str) -> None:
        # A screen reader announces a change of what has the role of a status.
        self.status.value = f'<div role="status">{theme.paragraph(theme.inline(text))}</div>'

    def _clicked(self) -> None:
        try:
            kept = self._keep(**self.given())
        except LabError as error:  # a locked journal, a full disk: the answers stay where they are
            self._say(f"{type(error).__name__}: {error}")
            return
        self.button.disabled = True
        self._lasting.give_way(self._in_its_place(kept))

    def _in_its_place(self, kept: Any) -> Bundle:
        """What stands where the form was: the answers, and what to do with the stopped notebook."""
        bundle = formatters.BUNDLES[type(kept)](kept)
        return {
            "text/plain": f"{self.ON}\n\n{bundle['text/plain']}",
            "text/html": theme.note(escape(self.ON), theme.BLUE) + bundle["text/html"],
        }


class PredictionForm(Form):
    """What will the rows say?  With how sure, and why."""

    BUTTON = "Seal prediction"
    READY = "All answered. Sealing keeps it in your journal, as it is."
    WAITS = f"This cell waits for your prediction. {AGAIN}"
    ON = "Sealed in your journal, and the gate is open: go on with the next cell, or Run All again."

    def missing(self) -> list[str]:
        """What still keeps the prediction from being sealed, one line each, in the kata's order."""
        lines = super().missing()
        if self.controls["certainty"].value is None:
            lines.append("how sure you are")
        if not self.controls["because"].value.strip():
            lines.append("your reason")
        return lines

    def given(self) -> dict[str, Any]:
        """The answers, the certainty and the reason.  Raises: BadPrediction."""
        return super().given() | {name: self.controls[name].value for name in MORE}

    def asked(self) -> list[tuple[str, str]]:
        """Every question, how sure, and why."""
        return [*super().asked(), (HOW_SURE, f"one of {', '.join(BANDS)}"), (WHY, "a sentence")]

    def _more(self) -> dict[str, Any]:
        sure = widgets.RadioButtons(options=list(BANDS.items()), value=None, **_asking(HOW_SURE))
        return {"certainty": sure, "because": widgets.Textarea(rows=2, **_asking(WHY))}


class ReadingForm(Form):
    """What do the rows say?  It shows nothing of them: they stand above it, in the runs' own cells."""

    BUTTON = "Keep what I read"
    READY = "All answered. Keep it, right or wrong: it costs nothing, and the check then says what it was."
    WAITS = f"This cell waits for what you read in the rows. {AGAIN}"
    ON = "Kept in your journal: go on with the next cell, or Run All again."


def _control(field: Field) -> Any:
    """Native controls, each with a label of its own: a screen reader and the Tab key know them."""
    if field.kind == "integer":
        return widgets.Text(placeholder="a number", **_asking(field.label))
    options = {"yes": True, "no": False} if field.kind == "boolean" else {one: one for one in field.choices}
    # By its place: a `value` of None, given or left to ipywidgets, may show nothing at all.
    return widgets.Dropdown(options=[("choose", None), *options.items()], index=0, **_asking(field.label))


def _asking(question: str) -> dict[str, Any]:
    """What gives a control its question."""
    parts = question.split("`")
    html = [f"<code>{escape(part)}</code>" if index % 2 else escape(part) for index, part in enumerate(parts)]
    return {"description": "".join(html), "description_allow_html": True}
