"""A study runs each of its cases a few times, each time in new stores, and seals what it saw.

Two are registered: the seven `interventions`, and what failures do to a `budget`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import BadOption
from labkit.harness import allowance, contracts, packets, provenance, registered, trials
from labkit.harness.launchers import ExecLauncher, Launcher
from labkit.harness.packets import Packet, Record
from labkit.harness.trials import Judge
from labkit.harness.worlds import scratch_folder

MOST_REPETITIONS = 20

Advance = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Study:
    """Cases by id, how one is run in a folder, and how its judged record is held against the contract."""

    kind: str
    cases: Mapping[str, Any]
    run: Callable[[Any, Path, Launcher], Record]
    contract_of: Callable[[Any, Record], contracts.Contract]
    workers: tuple[Path, ...]


INTERVENTIONS = Study(
    "interventions",
    {case.id: case for case in registered.INTERVENTIONS},
    registered.run,
    registered.contract_of,
    (registered.REFERENCE, registered.MUTANT),
)
BUDGET = Study(
    "budget",
    {case.id: case for case in allowance.CASES},
    allowance.run,
    allowance.contract_of,
    (registered.REFERENCE,),
)
STUDIES = {study.kind: study for study in (INTERVENTIONS, BUDGET)}


def require_repetitions(repetitions: int) -> None:
    """Let 1 to 20 pass.  Raises: BadOption."""
    if not 1 <= repetitions <= MOST_REPETITIONS:
        raise BadOption(f"--repetitions is {repetitions}", f"give a number from 1 to {MOST_REPETITIONS}")


def run_study(
    study: Study,
    repetitions: int,
    judge: Judge,
    advance: Advance = lambda _case_id: None,
    launcher: Launcher | None = None,
) -> Packet:
    """Run every case `repetitions` times and return the sealed packet.

    `advance` is called with the case's id after each trial.

    Raises:
        BadOption: repetitions outside 1 to 20.
        HarnessError: a child could not be started or reaped.
    """
    require_repetitions(repetitions)
    records = []
    for repetition in range(1, repetitions + 1):
        for case_id in study.cases:
            records.append({"repetition": repetition, **run_case(study, case_id, judge, launcher)})
            advance(case_id)
    content = {**provenance_of(study, judge), "repetitions": repetitions, "trials": records}
    return packets.seal(study.kind, {**content, "totals": totals_of(records)})


def run_case(study: Study, case_id: str, judge: Judge, launcher: Launcher | None = None) -> Record:
    """One trial of one case, in a folder that is made for it and removed after it.  Raises: HarnessError."""
    case = study.cases[case_id]
    folder = scratch_folder("lab-study-")
    try:
        record = study.run(case, folder / "world", launcher or ExecLauncher())
    finally:
        trials.remove(folder)
    record = contracts.judged({"case": case_id, "sentence": case.sentence, **record}, judge)
    return {**record, "contract": study.contract_of(case, record)}


def totals_of(records: Iterable[Record]) -> dict[str, Any]:
    """What the trials come to."""
    kept = list(records)
    final_effects: dict[str, list[int]] = {}
    for record in kept:
        final_effects.setdefault(record["case"], []).append(record["contract"]["final_effects"])
    passed = sum(record["contract"]["passed"] for record in kept)
    return {
        "trials": len(kept),
        "passed": passed,
        "failed": len(kept) - passed,
        "final_effects": final_effects,
    }


def summary(packet: Packet) -> dict[str, Any]:
    """A packet without its rows and sources: what each trial came to."""
    left_out = {"sources_sha256", "trials"}
    kept = ("repetition", "case", "boundary", "resumed_result", "elapsed_ms", "outcome", "contract")
    shown = [
        {
            **{name: record[name] for name in kept},
            "pids": [run["pid"] for run in record["runs"]],
            "returncodes": [run["returncode"] for run in record["runs"]],
            "final_effects": record["contract"]["final_effects"],
        }
        for record in packet["trials"]
    ]
    return {**{name: value for name, value in packet.items() if name not in left_out}, "trials": shown}


def provenance_of(study: Study, judge: Judge) -> dict[str, Any]:
    """The machine, and the digests of what took part: the harness, the workers, and this judge."""
    judged_by = Path(inspect.getsourcefile(judge) or __file__)
    sources = provenance.source_digests([Path(__file__), *study.workers, judged_by])
    return {
        "environment": provenance.environment(),
        "git": provenance.revision(sources),
        "sources_sha256": sources,
    }
