"""The class on one page: how points are spread, where answers fall, and what the class believes."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from markupsafe import Markup

from labkit.grading.classroom import ClassResult, Row
from labkit.learning.calibration import Scored, by_belief, scores
from labkit.learning.calibration import bands as bands_of
from labkit.learning.katas import Kata
from labkit.ui import calibration_plot, theme
from labkit.ui.pages import template

MOST_PLACES = 12
BINS = 10


def page(result: ClassResult) -> str:
    """The page's HTML.  It refers to nothing outside itself."""
    scored = foretold(result)
    bands = bands_of(scored)
    return template("class.html").render(
        result=result,
        rows=[
            (row, sorted({mark.outcome for mark in row.marks.values()} - {"judged"})) for row in result.rows
        ],
        bins=distribution(result),
        failed=most_failed(result),
        beliefs=[(kata, misconceptions(kata, result)) for kata in result.katas],
        bands=bands,
        plot=Markup(calibration_plot.as_svg(bands)),  # noqa: S704  escaped there
        declined=calibration_plot.declined(bands),
        shared=[one for one in by_belief(scored) if one.believed],
        outliers=outliers(result),
        theme=theme,
    )


def distribution(result: ClassResult) -> list[dict[str, Any]]:
    """How many learners have which share of the points, in tenths; full marks are in the last."""
    counts = Counter(
        min(BINS - 1, row.earned * BINS // row.possible) if row.possible else 0 for row in result.rows
    )
    most = max(counts.values(), default=1)
    return [
        {"label": f"{n * 10}-{n * 10 + 10} %", "count": counts[n], "width": 100 * counts[n] // most}
        for n in range(BINS)
    ]


def most_failed(result: ClassResult) -> list[tuple[str, str, int]]:
    """The crash points at which most answers fail: (kata, place, answers)."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in result.rows:
        for slug, mark in row.marks.items():
            counts.update((slug, place) for place in mark.failed if not place.startswith("line "))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(slug, place, count) for (slug, place), count in ordered[:MOST_PLACES]]


def misconceptions(kata: Kata, result: ClassResult) -> list[dict[str, Any]]:
    """Each wrong answer to each field of a kata: how many gave it, and what it means."""
    found: list[dict[str, Any]] = []
    truth = result.truths[kata.slug]
    asked = [row.predictions[kata.slug] for row in result.rows if kata.slug in row.predictions]
    for one in kata.fields:
        given = Counter(repr(prediction.answers[one.name]) for prediction in asked)
        answers = {repr(prediction.answers[one.name]): prediction.answers[one.name] for prediction in asked}
        for text, count in sorted(given.items(), key=lambda item: (-item[1], item[0])):
            if answers[text] != truth[one.name]:
                found.append(
                    {
                        "label": one.label,
                        "answer": text,
                        "count": count,
                        "of": len(asked),
                        "heat": 100 * count // len(asked),
                        "why": kata.misconception(one.name, answers[text]),
                    }
                )
    return found


def foretold(result: ClassResult) -> list[Scored]:
    """Everything that was predicted in the class, beside what the katas' runs showed."""
    return [
        one
        for row in result.rows
        for kata in result.katas
        if kata.slug in row.predictions
        for one in scores(kata, row.predictions[kata.slug], result.truths[kata.slug])
    ]


def outliers(result: ClassResult) -> list[tuple[Row, str]]:
    """Whom to look at: far from the others, or with an answer that was not simply judged."""
    points = [row.earned for row in result.rows]
    spread = statistics.pstdev(points) if len(points) > 1 else 0.0
    middle = statistics.mean(points) if points else 0.0
    found = []
    for row in result.rows:
        odd = sorted({mark.outcome for mark in row.marks.values()} & {"tampered", "flaky", "infra_error"})
        if odd:
            found.append((row, ", ".join(odd)))
        elif spread and abs(row.earned - middle) > 2 * spread:
            found.append((row, f"{row.earned} points, the class's mean is {middle:.1f}"))
    return found
