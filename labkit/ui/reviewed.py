"""How a review looks: how sure and how right, by band, part and belief; what was wrong, and what to ask again.

As text for a terminal and as HTML for a notebook.  Feedback, never a grade: it earns and costs nothing.
"""

from __future__ import annotations

from html import escape

from labkit.learning.calibration import ENOUGH, Group, Review, Scored, Tally
from labkit.learning.predict import CERTAINTIES
from labkit.ui import calibration_plot, theme
from labkit.ui.checked import Bundle

NOTHING = "No prediction was compared with the rows yet: lab next says where to begin."
BANDS = tuple(f"{band} %" for band in CERTAINTIES)  # right/answers below each
PARTS = ("part", "right", "Brier", *BANDS)
BELIEFS = ("a belief behind wrong answers", "shown", "Brier", *BANDS)


def bundle(value: Review) -> Bundle:
    """A review as text and HTML."""
    return {"text/plain": as_text(value), "text/html": as_html(value)}


def as_text(found: Review, also: str = "") -> str:
    """A review for a terminal; `also` is one more line under the headline."""
    if not found.overall.answers:
        return NOTHING
    blocks = ["\n".join(filter(None, (headline(found), also))), calibration_plot.as_text(found.bands)]
    blocks += [theme.in_columns(heads, rows) for heads, rows in tables(found)]
    if unheld := _unheld(found):
        blocks.append(unheld)
    blocks += [f"{_asked(one)}\n  {_answered(one)}" for one in found.wrong]
    if found.again:
        again = "\n".join(f"  lab review {slug}" for slug in found.again)
        blocks.append(f"Ask yourself again, the surest errors first:\n{again}")
    return "\n\n".join(blocks)


def as_html(found: Review) -> str:
    """The same for a page; the plot stands in it as SVG."""
    if not found.overall.answers:
        return theme.paragraph(escape(NOTHING))
    why = calibration_plot.declined(found.bands)
    html = [theme.paragraph(escape(headline(found)))]
    html.append(theme.paragraph(escape(why)) if why else calibration_plot.as_svg(found.bands))
    html += [_escaped(heads, rows) for heads, rows in tables(found)]
    html += [theme.paragraph(escape(unheld)) for unheld in (_unheld(found),) if unheld]
    html += [
        theme.paragraph(f"<b>{theme.inline(_asked(one))}</b>") + theme.note(theme.inline(_answered(one)))
        for one in found.wrong
    ]
    if found.again:
        links = ", ".join(f'<a href="{slug}.ipynb">{slug}</a>' for slug in found.again)
        html.append(theme.paragraph(f"Ask yourself again, the surest errors first: {links}"))
    return "\n".join(html)


def _escaped(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return theme.table(tuple(map(escape, heads)), [tuple(map(escape, row)) for row in rows])


def headline(found: Review) -> str:
    """How many answers were right, and their score where it says something."""
    total = f"{found.overall.right} of {found.overall.answers} answers right, in your first predictions."
    if found.overall.brier is None:
        return f"{total} Below {ENOUGH} there is no score."
    return (
        f"{total}\nBrier score {found.overall.brier:.2f}: 0 is perfect, an even chance said of all is 0.25."
    )


def tables(found: Review) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """By part, and by those beliefs that some answer showed: (heads, rows).  None of few answers."""
    if not found.enough:
        return []
    parts = [_row(one, f"{one.right} of {one.answers}") for one in found.parts]
    held = [_row(one, f"{one.believed} of {one.answers}") for one in found.beliefs if one.believed]
    return [(PARTS, parts), *([(BELIEFS, held)] if held else [])]


def _row(one: Group, count: str) -> tuple[str, ...]:
    brier = "too few" if one.brier is None else f"{one.brier:.2f}"
    return (one.name, count, brier, *map(_share, one.bands))


def _share(band: Tally) -> str:
    return f"{band.right}/{band.answers}" if band.answers else ""


def _unheld(found: Review) -> str:
    """How many beliefs no answer showed, though a question could have."""
    unheld = sum(not one.believed for one in found.beliefs)
    if not found.enough or not unheld:
        return ""
    return f"Of {len(found.beliefs)} beliefs that a wrong answer could have shown, {unheld} show nowhere."


def _asked(one: Scored) -> str:
    return f"{one.kata}, {one.certainty} % sure: {one.label}"


def _answered(one: Scored) -> str:
    return f"you said {one.predicted}, the rows say {one.observed}. {one.why}".rstrip()
