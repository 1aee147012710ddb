"""One look for every picture and page: colours that survive colour blindness, and a symbol beside each.

Text takes the surrounding page's colour (`currentColor`), so that pictures read in light and dark
themes.  The five hues are from Okabe and Ito's palette, in tones that stand out on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

BLUE = "#3a8fd0"  # a process at work
GREEN = "#1a9e77"  # durable, and as it should be
RED = "#e0612a"  # a kill, or a contract broken (vermilion: told from green by the colour-blind)
AMBER = "#d99a1c"  # in doubt
GREY = "#8a8f98"  # scaffolding
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
# What a page that stands alone begins with.
PAGE = Markup(  # noqa: S704  our own style sheet; escaped, a font's quotes would make it void
    f""":root {{ color-scheme: light dark; --line: {GREY}55; }}
body {{
  font: 15px/1.5 {FONT}; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: CanvasText; background: Canvas;
}}
h1 {{ font-size: 1.5rem; font-weight: 650; line-height: 1.3; }}
h2 {{ font-size: 1.15rem; font-weight: 650; margin: 1.6rem 0 .4rem; }}
h3 {{ font-size: 1rem; font-weight: 650; margin: 1rem 0 .3rem; }}"""
)

PASS = "✓"  # noqa: S105  a sign, no secret
FAIL = "✗"

CELL = "text-align:left; vertical-align:top; padding:4px 12px 4px 0; border:0; font-size:13px; white-space:normal"
HEAD = CELL + "; font-weight:600; border-bottom:1px solid " + GREY


def table(headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """An HTML table.  Cells are HTML already: pass text through `html.escape` first."""
    head = "".join(f'<th style="{HEAD}">{name}</th>' for name in headers)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table style="border-collapse:collapse; margin:4px 0; font-family:{FONT}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def paragraph(html: str) -> str:
    """A line of running text."""
    return f'<div style="font-family:{FONT}; font-size:13px; margin:4px 0">{html}</div>'


def note(html: str, colour: str = AMBER) -> str:
    """A remark set off from what stands around it."""
    style = f"font-family:{FONT}; font-size:13px; margin:4px 0; padding:2px 0 2px 10px"
    return f'<div style="{style}; border-left:3px solid {colour}">{html}</div>'


def inline(text: str) -> str:
    """Plain text as HTML, with `code` between backticks."""
    parts = text.split("`")
    return "".join(code(part) if index % 2 else escape(part) for index, part in enumerate(parts))


def code(text: str) -> str:
    """A short piece of code within a line."""
    return f'<code style="font-family:{MONO}">{escape(text)}</code>'


def sign(passed: bool, text: str) -> str:
    """A result as symbol, word and colour: any one of the three is enough to read it."""
    colour, symbol = (GREEN, PASS) if passed else (RED, FAIL)
    return f'<span style="{readable(colour)}; font-weight:600">{symbol}&nbsp;{escape(text)}</span>'


def readable(colour: str, of: str = "color") -> str:
    """A hue as the colour of small text: mixed with the page's own, it stands out in light and dark themes."""
    return f"{of}:{colour}; {of}:color-mix(in srgb, {colour} 68%, currentColor)"


def in_columns(headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A plain-text table, columns padded with spaces."""
    widths = [max(len(row[column]) for row in (headers, *rows)) for column in range(len(headers))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headers, *rows)
    ]
    return "\n".join(lines)
