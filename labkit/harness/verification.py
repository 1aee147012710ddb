"""Verifying a packet: was it changed, and do its rows still give the verdicts that it states?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import BadPacket
from labkit.harness import contracts, packets, provenance
from labkit.harness.packets import Packet, Record
from labkit.harness.studies import STUDIES, Study, totals_of
from labkit.harness.trials import Judge


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying a packet found.  `notes` are information, `problems` make it fail."""

    kind: str
    trials: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.problems


def verify(path: Path, judge: Judge) -> Verification:
    """Check every digest of a packet, and derive every verdict, contract and total again from its rows.

    Raises:
        BadPacket: not a packet, of another schema or kind, or sealed without what a packet needs.
    """
    packet, data = packets.read(path)
    if packet is None:
        return Verification("unknown", 0, ("the file is damaged: it is no longer JSON",), ())
    problems = packets.faults_of(packet, data)
    study = STUDIES.get(packet.get("kind", ""))
    try:
        if study is None:
            raise BadPacket(
                f"{path} is of the unknown kind {packet.get('kind')!r}", "use the labkit that wrote it"
            )
        problems += faults_of_trials(study, packet, judge)
        notes = source_notes(packet["sources_sha256"])
        return Verification(study.kind, len(packet["trials"]), tuple(problems), notes)
    except (BadPacket, LookupError, TypeError, ValueError, AttributeError) as error:
        if problems:  # it was changed, and that is the finding; where it breaks after that is no news
            return Verification(study.kind if study else "unknown", 0, tuple(problems), ())
        if isinstance(error, BadPacket):
            raise
        raise BadPacket(
            f"{path} is sealed, and its content is not a packet's ({error!r})",
            "name a file that labkit wrote",
        ) from None


def faults_of_trials(study: Study, packet: Packet, judge: Judge) -> list[str]:
    """Where a packet says otherwise than its own rows, or lacks a trial."""
    faults = []
    if packet["deployment_authorized"] is not False:
        faults.append("deployment_authorized is not false: no packet authorises a deployment")
    records = packet["trials"]
    wanted = [(n, case_id) for n in range(1, packet["repetitions"] + 1) for case_id in study.cases]
    if [(record["repetition"], record["case"]) for record in records] != wanted:
        faults.append(f"the trials are not {packet['repetitions']} of each of the {len(study.cases)} cases")
        return faults
    for number, record in enumerate(records, start=1):
        faults += [
            f"trial {number} ({record['case']}): {fault}" for fault in faults_of_trial(study, record, judge)
        ]
    if packet["totals"] != totals_of(records):
        faults.append("the totals are not those of the trials")
    return faults


def faults_of_trial(study: Study, record: Record, judge: Judge) -> list[str]:
    """Where one trial says otherwise than its rows, or falls short of its contract."""
    try:
        again = contracts.judged(record, judge)
        contract = study.contract_of(study.cases[record["case"]], again)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return [f"its rows cannot be judged ({error!r})"]
    faults = _differences("", _by_name(again["verdicts"]), _by_name(record["verdicts"]))
    faults += _differences("contract ", contract, record["contract"])
    return faults if contract["passed"] else [*faults, *contract["because"]]


def _by_name(verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Verdicts as one object to compare."""
    return {"verdicts": [(verdict["name"], verdict["passed"]) for verdict in verdicts]}


def _differences(what: str, derived: Mapping[str, Any], stated: Mapping[str, Any]) -> list[str]:
    """Where a packet says otherwise than its rows.  `because` may come to be worded better, and mean the same."""
    names = dict.fromkeys([*derived, *stated])
    return [
        f"the rows give {what}{name} {derived.get(name)!r}, the packet says {stated.get(name)!r}"
        for name in names
        if name != "because" and derived.get(name) != stated.get(name)
    ]


def source_notes(recorded: Mapping[str, Any]) -> tuple[str, ...]:
    """Which sources are not today what they were: worth knowing, and no fault of the packet."""
    today = {name: provenance.ROOT / name for name in recorded}
    gone = sorted(name for name, path in today.items() if not path.is_file())
    changed = sorted(
        name
        for name, path in today.items()
        if path.is_file() and provenance.file_digest(path) != recorded[name]
    )
    notes = (
        [f"{len(changed)} of {len(recorded)} sources differ today: {', '.join(changed)}"] if changed else []
    )
    return (*notes, *([f"{len(gone)} sources are not here today: {', '.join(gone)}"] if gone else []))
