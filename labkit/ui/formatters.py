"""How labkit's values look in a notebook.  The values stay plain; their look is registered here.

Each gets a text twin and HTML, and the checked ones a JSON part that `lab run` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import pandas as pd
from IPython.core.getipython import get_ipython

from labkit.learning.calibration import Review
from labkit.learning.check import Checked
from labkit.learning.predict import Sealed
from labkit.learning.progress import SAYS
from labkit.learning.readings import Reading, Unread
from labkit.observations import PointResult, Sweep
from labkit.ui import checked, crashmap, point, reviewed, row_tables, theme, timeline
from labkit.ui.checked import RESULT_TYPE, Bundle
from labkit.ui.point import SeenTrial
from labkit.ui.seen import Seen
from labkit.ui.series import Series
from labkit.ui.source import Source


def shell() -> Any:
    """The running IPython, taught how our values look; None outside of it."""
    running = get_ipython()
    if running is not None:
        register(running)
    return running


def register(shell: Any) -> None:
    """Teach one IPython shell how labkit's values look."""
    pd.set_option("display.max_colwidth", 72)  # a whole SHA-256
    formatter = shell.display_formatter.mimebundle_formatter
    for kind, bundle in BUNDLES.items():
        formatter.for_type(kind, _ignoring_filters(bundle))


def _ignoring_filters(bundle: Callable[[Any], Bundle]) -> Callable[..., Bundle]:
    return lambda value, **_filters: bundle(value)


def source(value: Source) -> Bundle:
    """Source text as Markdown, which the page colours in its own theme."""
    parts = [f"`{place}`\n\n```python\n{text.rstrip()}\n```" for place, text in value.parts]
    plain = [f"# {place}\n{text.rstrip()}" for place, text in value.parts]
    return {"text/plain": "\n\n".join(plain), "text/markdown": "\n\n".join(parts)}


def sealed(value: Sealed) -> Bundle:
    """A sealed prediction: the answers, how sure, why."""
    prediction = value.prediction
    rows = [(name, str(answer)) for name, answer in prediction.answers.items()]
    rows += [("certainty", f"{prediction.certainty} %"), ("because", prediction.because)]
    html = theme.table(("sealed", ""), [(theme.code(name), escape(answer)) for name, answer in rows])
    return {"text/plain": theme.in_columns(("sealed", ""), rows), "text/html": html}


def reading(value: Reading) -> Bundle:
    """What was read from the rows; what they say comes with the check."""
    rows = [(name, str(answer)) for name, answer in value.answers.items()]
    html = theme.table(("read", ""), [(theme.code(name), escape(answer)) for name, answer in rows])
    return {"text/plain": theme.in_columns(("read", ""), rows), "text/html": html}


def unread(_value: Unread) -> Bundle:
    """Why the check has no column for what was read."""
    line = "Nobody read the rows: the prediction came as a parameter."
    return {"text/plain": line, "text/html": theme.paragraph(escape(line))}


def seen(value: Seen) -> Bundle:
    """A run: the timeline, then the rows that matter at each look."""
    story = value.story
    moments = [(story.cuts[0].label, value.observation.interruption)] if len(story.cuts) > 1 else []
    looks = [(label, rows) for label, rows in moments if rows] + [("at the end", value.observation.final)]
    plain = [timeline.as_text(story), *row_tables.plain(looks, story.ledgers)]
    html = [timeline.as_svg(story), *row_tables.html(looks, story.ledgers)]
    return {"text/plain": "\n\n".join(plain), "text/html": "\n".join(html)}


def swept(value: Sweep) -> Bundle:
    """An answer at every crash point: the crash map."""
    return {
        "text/plain": crashmap.text(value),
        "text/html": crashmap.html_fragment(value),
        RESULT_TYPE: {"kind": "swept", "passed": value.passed, "verdicts": sorted(value.verdicts)},
    }


def series(value: Series) -> Bundle:
    """The katas, and how each stands."""
    heads = ("kata", "question", "minutes", "")
    rows = [(row.kata.slug, row.kata.title, str(row.kata.minutes), SAYS[row.standing]) for row in value.rows]
    links = [(f'<a href="{row[0]}.ipynb">{row[0]}</a>', *map(escape, row[1:])) for row in rows]
    return {"text/plain": theme.in_columns(heads, rows), "text/html": theme.table(heads, links)}


BUNDLES: dict[type, Callable[[Any], Bundle]] = {
    Source: source,
    Sealed: sealed,
    Reading: reading,
    Unread: unread,
    Seen: seen,
    Checked: checked.bundle,
    Sweep: swept,
    PointResult: point.result_bundle,
    SeenTrial: point.bundle,
    Series: series,
    Review: reviewed.bundle,
}
