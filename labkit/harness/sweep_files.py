"""Sweep files: one JSON file a sweep, written once, read back into the same `Sweep` years later.

A sweep carries its handlers' sources, so that its crash map can be drawn where those files are long
gone.  The file's digest shows damage; it is no signature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from labkit.errors import BadPacket
from labkit.harness import packets
from labkit.harness.json_fields import OTHER_VERSION, enumerated, one_of, record, texts, typed
from labkit.observations import (
    PASSING,
    CrashPoint,
    PointKind,
    PointResult,
    Sweep,
    TrialOutcome,
    Verdict,
    VerdictName,
)

FORMAT = "labkit sweep"
SCHEMA_VERSION = 2
READABLE = (1, 2)  # in version 1 every schedule had a recovery of its own
WRITTEN_BY = "name a file that `lab sweep --json` wrote"
DAMAGED = "sweep it again: this file was changed since it was written"


def write(path: Path, sweep: Sweep) -> None:
    """Write a sweep to a file that does not exist yet.

    Raises:
        OutputInUse, BadOption, ReadOnly, StoreUnwritable: as `packets.write_new`.
    """
    packets.write_new(path, to_json(sweep))


def read(path: Path) -> Sweep:
    """The sweep that a file holds.

    Raises:
        BadPacket: missing, not a sweep, of another schema, damaged, or with a value that cannot be.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise BadPacket(f"{path} cannot be read ({error.strerror})", WRITTEN_BY) from None
    except (ValueError, RecursionError):
        raise BadPacket(f"{path} is not JSON", WRITTEN_BY) from None
    try:
        return from_json(document)
    except BadPacket as error:
        raise BadPacket(f"{path}: {error.message}", error.cure) from None


def to_json(sweep: Sweep, without: str = "") -> dict[str, Any]:
    """A sweep as plain JSON: header first, digest last.

    `passed` and `verdicts` are there for other programs; who reads the file back derives them again.
    What the pattern `without` matches is taken out of its texts.
    """
    content = asdict(sweep) | {"sources": dict(sorted(sweep.sources.items()))}
    document = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "shows": packets.SHOWS,
        "passed": sweep.passed,
        "verdicts": sorted(sweep.verdicts),
        "sweep": plain(content, without),
    }
    return {**document, "digest": digest_of(document)}


def from_json(document: Any) -> Sweep:
    """The sweep of a JSON document.

    Raises:
        BadPacket: not a sweep, of another schema, damaged, or with a value that cannot be.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadPacket("it is not a sweep", WRITTEN_BY)
    version = document.get("schema_version")
    if version not in READABLE:
        raise BadPacket(f"it has schema version {version!r}, not {SCHEMA_VERSION}", OTHER_VERSION)
    content = {name: value for name, value in document.items() if name != "digest"}
    if digest_of(content) != document.get("digest"):
        raise BadPacket("it does not fit its digest", DAMAGED)
    return sweep_of(document.get("sweep"))


def plain(value: Any, without: str = "") -> Any:
    """A value as JSON gives it back; half a surrogate pair, which no file can hold, becomes `?`."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads((re.sub(without, "", text) if without else text).encode("utf-8", "replace"))


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document's own layout (RFC 8785 cannot carry every number that a handler returns)."""
    return sha256(packets.render(document)).hexdigest()


# --- values from JSON -----------------------------------------------------------------------


def sweep_of(given: Any) -> Sweep:
    """Raises: BadPacket."""
    found = record(given, Sweep, "sweep")
    closure = found["closure"]
    if closure is not None:
        for name, kind in (("closed", bool), ("states", list), ("edges", list), ("bad_finals", list)):
            typed(typed(closure, dict, "closure").get(name), kind, f"closure.{name}")
    return Sweep(
        scenario=typed(found["scenario"], str, "scenario"),
        fault=typed(found["fault"], str, "fault"),
        depth=typed(found["depth"], str, "depth"),
        first=worker(found["first"], "first"),
        resume=worker(found["resume"], "resume"),
        sources={
            name: typed(text, str, f"sources.{name}")
            for name, text in typed(found["sources"], dict, "sources").items()
        },
        points=tuple(point_of(item, f"points[{n}]") for n, item in enumerated(found["points"], "points")),
        control=result_of(found["control"], "control"),
        results=tuple(
            result_of(item, f"results[{n}]") for n, item in enumerated(found["results"], "results")
        ),
        problems=texts(found["problems"], "problems"),
        closure=closure,
    )


def result_of(given: Any, place: str) -> PointResult:
    """Raises: BadPacket."""
    found = record({"same_bytes_as": [], "is_killed": True, **typed(given, dict, place)}, PointResult, place)
    return PointResult(
        schedule=tuple(
            point_of(item, f"{place}.schedule[{n}]") for n, item in enumerated(found["schedule"], place)
        ),
        outcome=one_of(found["outcome"], get_args(TrialOutcome), f"{place}.outcome"),
        verdicts=tuple(
            verdict_of(item, f"{place}.verdicts[{n}]") for n, item in enumerated(found["verdicts"], place)
        ),
        promised=tuple(typed(found["promised"], list, f"{place}.promised")),
        recorded=typed(found["recorded"], dict, f"{place}.recorded"),
        happened={
            intent: typed(count, int, f"{place}.happened.{intent}")
            for intent, count in typed(found["happened"], dict, f"{place}.happened").items()
        },
        command=typed(found["command"], str, f"{place}.command"),
        explanation=typed(found["explanation"], str, f"{place}.explanation"),
        same_bytes_as=tuple(
            typed(number, int, f"{place}.same_bytes_as[{n}]")
            for n, number in enumerated(found["same_bytes_as"], f"{place}.same_bytes_as")
        ),
        is_killed=typed(found["is_killed"], bool, f"{place}.is_killed"),
    )


def verdict_of(given: Any, place: str) -> Verdict:
    """One of the closed set is right or wrong by its name; a kata's own check says so itself.  Raises: BadPacket."""
    found = record(given, Verdict, place)
    name, passed = typed(found["name"], str, f"{place}.name"), typed(found["passed"], bool, f"{place}.passed")
    if name in get_args(VerdictName) and passed != (name in PASSING):
        raise BadPacket(f"{place}.passed is {passed} for {name}", DAMAGED)
    return Verdict(name, passed, typed(found["because"], str, f"{place}.because"))


def point_of(given: Any, place: str) -> CrashPoint:
    """Raises: BadPacket."""
    found = record(given, CrashPoint, place)
    return CrashPoint(
        number=typed(found["number"], int, f"{place}.number"),
        kind=one_of(found["kind"], (*get_args(PointKind), "reply"), f"{place}.kind"),
        label=typed(found["label"], str, f"{place}.label"),
        line=typed(found["line"], int, f"{place}.line"),
    )


def worker(given: Any, place: str) -> tuple[str, str]:
    """A (file, function) pair.  Raises: BadPacket."""
    pair = texts(given, place)
    if len(pair) != 2:
        raise BadPacket(f"{place} is not [file, function]", WRITTEN_BY)
    return pair[0], pair[1]
