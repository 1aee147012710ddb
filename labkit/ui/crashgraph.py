"""The crash graph: every durable state that crashes can reach, and the kills that lead there."""

from __future__ import annotations

from typing import Any

import drawsvg  # type: ignore[import-untyped]


def svg(closure: dict[str, Any]) -> str:
    """The picture, to stand in a page."""
    picture = drawsvg.Drawing(600, 20 + 20 * len(closure["states"]), role="img")
    picture.append_title(text(closure))
    for index, state in enumerate(closure["states"], 1):
        picture.append(
            drawsvg.Text(f"state {state['id']} {state['summary']}", 12, 8, 20 * index, fill="currentColor")
        )
    return str(picture.as_svg(header=""))


def text(closure: dict[str, Any]) -> str:
    """The same in words."""
    lines = [
        f"state {state['id']} ({state['role']}): {state['summary']} {state['verdicts']}"
        for state in closure["states"]
    ]
    lines += [
        f"{edge['from']} -> {edge['to']}: {edge['kind']} at {len(edge['points'])} points"
        for edge in closure["edges"]
    ]
    return "\n".join(lines)
