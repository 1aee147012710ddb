"""Evidence packets: one JSON file of trials, written once, that shows by itself whether it was changed.

A packet carries the digest of every snapshot and of the whole, in one fixed layout, so that no byte
of it can change unnoticed by accident or by the unprepared.  It is no signature: whoever rewrites the
file with new digests can only be found out by judging its rows again (`verification`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit import canonical
from labkit.errors import BadOption, BadPacket, OutputInUse, StoreUnwritable
from labkit.observations import Observation, ProcessRun, Snapshot
from labkit.stores.sqlite_errors import read_only

FORMAT = "labkit evidence packet"
OPENING = f'{{\n "format": "{FORMAT}"'.encode()  # by which a damaged packet is still known as one
SCHEMA_VERSION = 1
SHOWS = (
    "SIGKILL shows process death. It does not show power loss, a damaged disk, a remote provider's behaviour,"
    " or an exactly-once guarantee."
)
REPETITIONS = (
    "Repetitions show that a deterministic path repeats itself. They are no sample of anything, and no"
    " reliability estimate."
)

Packet = dict[str, Any]
Record = dict[str, Any]  # one trial in a packet


# --- one trial ------------------------------------------------------------------------------


def sealed(rows: Snapshot) -> dict[str, Any]:
    """A snapshot with its digest."""
    return {"digest": canonical.digest(rows), "rows": rows}


def record_of(observation: Observation) -> Record:
    """An observation as a packet keeps it.  Folders and commands stay out: they mean nothing elsewhere."""
    runs = [
        {k: v for k, v in asdict(run).items() if k not in ("command", "stdout_tail")}
        for run in observation.runs
    ]
    return {
        "scenario": observation.scenario,
        "fault": observation.fault,
        "interventions": list(observation.interventions),
        "intents": [list(intent) for intent in observation.intents],
        "runs": runs,
        "resumed_result": next((run["result"] for run in reversed(runs) if run["role"] == "resume"), None),
        "elapsed_ms": round(sum(run.elapsed_ms for run in observation.runs), 3),
        "outcome": observation.outcome,
        "explanation": observation.explanation,
        "interruption": sealed(observation.interruption) if observation.interruption is not None else None,
        "final": sealed(observation.final),
        "verdicts": [asdict(verdict) for verdict in observation.verdicts],
    }


def observation_of(record: Mapping[str, Any]) -> Observation:
    """The observation that a packet keeps, without its stored verdicts: they are to be derived again."""
    interruption = record["interruption"]
    return Observation(
        scenario=record["scenario"],
        fault=record["fault"],
        intents=tuple((ledger, kind, subject) for ledger, kind, subject in record["intents"]),
        runs=tuple(ProcessRun(command="", stdout_tail="", **run) for run in record["runs"]),
        interruption=None if interruption is None else interruption["rows"],
        final=record["final"]["rows"],
        outcome=record["outcome"],
        explanation=record["explanation"],
        interventions=tuple(record["interventions"]),
    )


# --- the file -------------------------------------------------------------------------------


def seal(kind: str, content: Mapping[str, Any]) -> Packet:
    """A whole packet of one kind: header first, digest last."""
    packet: Packet = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "deployment_authorized": False,
        "shows": SHOWS,
        "repetitions_mean": REPETITIONS,
        **content,
    }
    return {**packet, "digest": canonical.digest(packet)}


def render(packet: Mapping[str, Any]) -> bytes:
    """The one layout of a packet, a table row a line: a file in any other was edited."""
    return _layout(packet, "").encode() + b"\n"


_text = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for each value


def _layout(value: Any, indent: str) -> str:
    """JSON with a container of plain values on one line, and every other one item a line."""
    items = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, (Mapping, list)) or not any(isinstance(item, (Mapping, list)) for item in items):
        return _text(value)
    inner = indent + " "
    if isinstance(value, Mapping):
        lines = [f"{_text(name)}: {_layout(item, inner)}" for name, item in value.items()]
        return "{\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _layout(item, inner) for item in value) + f"\n{indent}]"


def require_new(path: Path) -> None:
    """Refuse, before anything is run, a place where no new file can be.

    Raises:
        OutputInUse: something is there.
        BadOption: its folder does not exist.
        ReadOnly: its folder may not be written.
    """
    if path.exists() or path.is_symlink():
        raise OutputInUse(f"{path} exists already", "choose a new file; evidence is never overwritten")
    if not path.parent.is_dir():
        raise BadOption(f"{path.parent} is not a folder", "make it first, or choose another file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise read_only(path)


def write_new(path: Path, packet: Mapping[str, Any]) -> None:
    """Write a packet to a file that does not exist yet; a half-written one is not left behind.

    Raises:
        OutputInUse, BadOption, ReadOnly: as `require_new`.
        StoreUnwritable: disk full, or an error of the disk.
    """
    require_new(path)
    data = render(packet)
    try:
        with path.open("xb") as file:
            try:
                file.write(data)
                file.flush()
            except OSError:
                path.unlink()
                raise
    except FileExistsError:
        raise OutputInUse(
            f"{path} exists already", "choose a new file; evidence is never overwritten"
        ) from None
    except PermissionError:
        raise read_only(path) from None
    except OSError as error:
        raise StoreUnwritable(
            f"{path} could not be written ({error.strerror})", "free disk space, then run this again"
        ) from error


def read(path: Path) -> tuple[Packet | None, bytes]:
    """A packet and its bytes; None for one that was damaged so that it is no longer JSON.

    Raises:
        BadPacket: missing, unreadable, not a packet at all, or of a newer schema.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadPacket(f"{path} cannot be read ({error.strerror})", "name a packet file") from None
    try:
        packet = json.loads(data)
    except (ValueError, RecursionError):
        packet = None
    if packet is None and data.startswith(OPENING):
        return None, data
    if not isinstance(packet, dict) or packet.get("format") != FORMAT:
        raise BadPacket(f"{path} is not an evidence packet", "name a file that `lab study --out` wrote")
    version = packet.get("schema_version")
    if version != SCHEMA_VERSION:
        raise BadPacket(
            f"{path} has schema version {version!r}, not {SCHEMA_VERSION}", "use the labkit that wrote it"
        )
    return packet, data


def faults_of(packet: Mapping[str, Any], data: bytes) -> list[str]:
    """What shows that a packet's file was changed since it was written; empty where nothing does."""
    faults = []
    if render(packet) != data:
        faults.append("the bytes are not in the packet's own layout")
    content = {name: value for name, value in packet.items() if name != "digest"}
    if _digest(content) != packet.get("digest"):
        faults.append("the packet does not fit its digest")
    trials = packet.get("trials")
    for number, record in enumerate(trials if isinstance(trials, list) else [], start=1):
        for name in ("before", "interruption", "final"):
            kept = record.get(name) if isinstance(record, dict) else None
            if isinstance(kept, dict) and _digest(kept.get("rows")) != kept.get("digest"):
                faults.append(f"trial {number}: the {name} rows do not fit their digest")
    return faults


def _digest(value: Any) -> str | None:
    """The digest, None for what JSON can hold and RFC 8785 cannot, such as an integer beyond 2^53-1."""
    try:
        return canonical.digest(value)
    except ValueError:
        return None
