"""A class's results as files: a table, a document and a CI report.  The same class, the same bytes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from labkit.grading.classroom import ClassResult, Row

FORMAT = "labkit grades"
SCHEMA_VERSION = 1
COLUMNS = (
    "learner", "kata", "outcome", "earned", "possible", "exercise", "prediction", "crash_points_passed",
    "crash_points_counted", "sandbox", "why",
)  # fmt: skip
STARTS_A_FORMULA = tuple("=+-@\t\r\n'")
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(result: ClassResult, out: Path) -> None:
    """Write grades.csv, results.json and junit.xml; each is old or new, and never half."""
    put(out / "grades.csv", grades_csv(result))
    put(out / "results.json", results_json(result))
    put(out / "junit.xml", junit(result))


def put(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def safe(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands before one that it could.

    >>> safe("=1+1"), safe("Ann"), safe("'tis")
    ("'=1+1", 'Ann', "''tis")
    """
    return f"'{text}" if text.startswith(STARTS_A_FORMULA) else text


def grades_csv(result: ClassResult) -> str:
    """A line for each learner and kata; every cell is quoted.  Points that nobody has are empty."""
    text = io.StringIO()
    table = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in result.rows:
        for kata in result.katas:
            mark = row.marks[kata.slug]
            is_score = mark.outcome != "infra_error"
            numbers = (mark.earned, mark.possible, mark.exercise, mark.prediction) if is_score else ("",) * 4
            table.writerow((
                safe(row.learner), kata.slug, mark.outcome, *numbers, mark.points_passed, mark.points_counted,
                mark.sandbox, safe(mark.why),
            ))  # fmt: skip
    return text.getvalue()


def results_json(result: ClassResult) -> str:
    """The document as text."""
    return json.dumps(document(result), indent=1) + "\n"


def document(result: ClassResult) -> dict[str, Any]:
    """Everything that is known, for programs; docs/grading.md describes it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "sandbox": result.sandbox,
        "katas": [{"kata": kata.slug, "points": kata.points} for kata in result.katas],
        "submitted": len(result.rows),
        "learners": [_learner(row) for row in result.rows],
    }


def _learner(row: Row) -> dict[str, Any]:
    return {
        "learner": row.learner,
        "earned": row.earned,
        "possible": row.possible,
        "katas": {slug: mark.as_json for slug, mark in row.marks.items()},
        "predicted": sorted(row.predictions),
        "notes": list(row.notes),
        "changed": {
            slug: {"from": before.as_json, "earned_before": before.earned}
            for slug, before in row.changed.items()
        },
    }


def junit(result: ClassResult) -> str:
    """A test case for each learner and kata; what was not judged is an error, short points a failure."""
    root = ElementTree.Element("testsuites")
    for kata in result.katas:
        suite = ElementTree.SubElement(root, "testsuite", name=kata.slug)
        for row in result.rows:
            mark = row.marks[kata.slug]
            case = ElementTree.SubElement(suite, "testcase", classname=kata.slug, name=visible(row.learner))
            if mark.outcome == "infra_error":
                ElementTree.SubElement(case, "error", message=visible(mark.why))
            elif mark.exercise < mark.possible - mark.possible // 5:
                ElementTree.SubElement(
                    case, "failure", message=visible(f"{mark.outcome}: {mark.earned} of {mark.possible}"),
                ).text = visible(mark.why)  # fmt: skip
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            suite.set(name, str(len(list(suite.iter(tag)))))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def visible(text: str) -> str:
    """A text that XML can hold."""
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
