"""How sure against how right: what share of the answers came true, in each band of certainty.

SVG by Altair and vl-convert, whose libraries lie in their packages: nothing is fetched, no renderer is
involved, and the same answers give the same bytes.  Lengths are fixed, because a measured text would
depend on the machine's fonts.  `as_text` is the same for a terminal, `in_words` for who sees neither.
Fewer than ten answers are not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from labkit.learning.calibration import BANDS, ENOUGH, Tally, wilson
from labkit.ui import theme

SIDE = 300  # px, of the square from 0 to 100 per cent
PADDING = {"left": 64, "top": 68, "right": 84, "bottom": 48}  # px; the last answers' count stands right of it
TICKS = [0, 25, 50, 67, 80, 100]
CELLS = 25  # of a line of text, 4 per cent each
# What is concluded of a band: a shape and a colour, and the sign that the key names the shape by.
LOOKS = {
    "surer than right": ("triangle-down", theme.RED, "▼"),
    "righter than sure": ("triangle-up", theme.BLUE, "▲"),
    "no difference shown": ("circle", theme.GREEN, "●"),
    "too few to say": ("circle", "var(--jp-layout-color0, Canvas)", "○"),
}


def declined(bands: Sequence[Tally]) -> str:
    """Why there is no plot of so few answers; empty where there is one."""
    answers = sum(band.answers for band in bands)
    return "" if answers >= ENOUGH else f"{answers} of {ENOUGH} answers: too few to draw"


def concluded(band: Tally) -> str:
    """What a band shows, in a few words."""
    return band.says or "too few to say"


def in_words(bands: Sequence[Tally]) -> str:
    """The plot for a screen reader: a sentence a band."""
    said = [
        f"{band.name} % sure: {band.right} of {band.answers} answers right, {concluded(band)}."
        if band.answers
        else f"{band.name} % sure: no answer."
        for band in bands
    ]
    return "\n".join(["How sure against how right.", *said])


def as_text(bands: Sequence[Tally]) -> str:
    """The plot in a terminal, a line a band, or why there is none."""
    if why := declined(bands):
        return why
    heads = ("certainty %", "0      right, %       100", "right", "Brier", "")
    rows = [
        (
            band.name, _line(band), f"{band.right} of {band.answers}",
            "" if band.brier is None else f"{band.brier:.2f}", concluded(band) if band.answers else "",
        )
        for band in bands
    ]  # fmt: skip
    return theme.in_columns(heads, rows) + "\n░ where the dot lies if you are as right as you are sure"


def _line(band: Tally) -> str:
    low, high, _probability = BANDS[band.name]
    cells = ["░" if low * CELLS <= cell + 0.5 < high * CELLS else "·" for cell in range(CELLS)]
    if band.answers:
        cells[min(CELLS - 1, band.right * CELLS // band.answers)] = "●"
    return "".join(cells)


def as_svg(bands: Sequence[Tally]) -> str:
    """The plot, to stand in a page of either theme; empty where there are too few answers."""
    if declined(bands):
        return ""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(_chart(bands).to_dict())
    opening, content = svg.split(">", 1)
    style = 'role="img" color="inherit" style="max-width:100%;height:auto"'
    return f"{opening} {style}><title>{escape(in_words(bands))}</title>{content}"


def as_file(bands: Sequence[Tally]) -> str:
    """The plot as a file of its own, dark where its reader's screen is."""
    opening, content = as_svg(bands).split("</title>", 1)
    look = "<style>svg{color-scheme:light dark;color:CanvasText;background:Canvas}</style>"
    return f"{opening}</title>{look}{content}\n"


def _chart(bands: Sequence[Tally]) -> Any:
    """A layer each: where the calibrated lie, the interval that chance explains, the mark, the count."""
    import altair as alt

    def place(field: str, most: str = "") -> dict[str, Any]:
        scale, title = alt.Scale(domain=[0, 100], nice=False), "how right, per cent"
        y = alt.Y(f"{field}:Q", scale=scale, title=title, axis=alt.Axis(values=TICKS, titleX=-40))
        title = "how sure, per cent"
        x = alt.X("sure:Q", scale=scale, title=title, axis=alt.Axis(values=TICKS, titleY=28))
        return {"x": x, "y": y} | ({"y2": f"{most}:Q"} if most else {})

    points = alt.Chart(alt.InlineData(values=[_point(band) for band in bands if band.answers]))
    corners = alt.Chart(alt.InlineData(values=[{"sure": 0, "right": 0}, {"sure": 100, "right": 100}]))
    squares = alt.Chart(alt.InlineData(values=[_square(band) for band in bands]))
    names, looks = list(LOOKS), list(zip(*LOOKS.values(), strict=True))
    shape = alt.Shape("says:N", legend=None, scale=alt.Scale(domain=names, range=looks[0]))
    fill = alt.Fill("says:N", legend=None, scale=alt.Scale(domain=names, range=looks[1]))
    chart = alt.layer(
        squares.mark_rect(color=theme.GREY, opacity=0.28).encode(**place("sure", "most"), x2="most:Q"),
        corners.mark_line(color=theme.GREY, strokeDash=[4, 4], strokeWidth=1.5).encode(**place("right")),
        points.mark_rule(color="currentColor", strokeWidth=1.5).encode(**place("least", "most")),
        points.mark_point(size=130, opacity=1, stroke="currentColor", strokeWidth=1.2).encode(
            **place("right"), shape=shape, fill=fill
        ),
        points.mark_text(align="left", dx=11, fontSize=12, color="currentColor").encode(
            **place("right"), text="count:N"
        ),
    )
    return _dressed(chart, bands)


def _dressed(chart: Any, bands: Sequence[Tally]) -> Any:
    """A chart in the project's look.  Colours are the page's, lengths are given and not measured."""
    import altair as alt

    right, answers = (sum(getattr(band, name) for band in bands) for name in ("right", "answers"))
    shown = {concluded(band) for band in bands if band.answers}
    key = ["Grey, and dashed: as right as sure.  Line: what chance explains, 95 %."]
    key += [", ".join(f"{sign} {name}" for name, (*_look, sign) in LOOKS.items() if name in shown)]
    title = alt.TitleParams(
        f"{right} of {answers} first answers right", subtitle=key, anchor="start", frame="bounds", offset=12
    )
    ink = "currentColor"
    return (
        chart.properties(width=SIDE, height=SIDE, padding=PADDING, autosize="none", title=title)
        .configure(background="transparent", font=theme.FONT, aria=False)
        .configure_axis(
            grid=False, labelColor=ink, titleColor=ink, domainColor=theme.GREY, tickColor=theme.GREY
        )
        .configure_title(color=ink, subtitleColor=ink, fontSize=13, subtitleFontSize=11)
        .configure_view(stroke=None)
    )


def _square(band: Tally) -> dict[str, float]:
    low, high, _probability = BANDS[band.name]
    return {"sure": 100 * low, "most": 100 * high}


def _point(band: Tally) -> dict[str, Any]:
    least, most = wilson(band.answers, band.right)
    values = {"right": band.right / band.answers, "least": least, "most": most, "sure": BANDS[band.name][2]}
    return {
        **{name: round(100 * value, 2) for name, value in values.items()},
        "says": concluded(band),
        "count": f"{band.right} of {band.answers}",
    }
