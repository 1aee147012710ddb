"""A run as text: who did what in which store, run by run, from rows.

Two stores share no clock and no transaction, so within one run the journal's events come first and
the ledger's after them; each store keeps its own order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from labkit.observations import ProcessRun, Row, Snapshot
from labkit.stores import chain

RUN_MS = 1000  # run n happens at n * 1000 ms on the world's own clock


def timeline(rows: Snapshot, runs: Mapping[str, Sequence[ProcessRun]], ledger: str = "payments") -> str:
    """One block a workflow, one line an event.  No process ids and no clock times: two demos read alike."""
    lines: list[str] = []
    for workflow_id, processes in runs.items():
        lines += [workflow_id, "-" * len(workflow_id)]
        lines += [f"before  {store:8}{text}" for store, text in _moment(rows, ledger, workflow_id, 0)]
        for number, process in enumerate(processes, start=1):
            moment = _moment(rows, ledger, workflow_id, number * RUN_MS)
            lines += [f"run {number}   {store:8}{text}" for store, text in moment]
            lines.append(f"run {number}   {'process':8}{_end(process)}")
        lines.append("")
    return "\n".join(lines)


def _moment(rows: Snapshot, ledger: str, workflow_id: str, at_ms: int) -> Iterator[tuple[str, str]]:
    """What both stores recorded for one workflow at one time."""
    for event in rows["journal"]["events"]:
        if (event["workflow_id"], event["at_ms"]) == (workflow_id, at_ms):
            yield "journal", _sentence(event)
    subjects = {
        chain.json_of(row["action"])["subject"]
        for row in rows["journal"]["operations"]
        if row["workflow_id"] == workflow_id
    }
    for call in rows[ledger]["invocations"]:
        if call["subject"] in subjects and call["at_ms"] == at_ms:
            key = call["operation_id"] or "no key"
            yield "ledger", f"{call['status']} ({key})"


def _sentence(event: Row) -> str:
    body = chain.body_of(event)
    match event["kind"]:
        case "moved":
            why = body["evidence"].get("reason") or body["evidence"].get("because", "")
            return f"{body['from']} -> {body['to']}: {why}"
        case "claimed":
            return f"claimed by {body['owner']}, epoch {body['epoch']}"
        case "checkpointed":
            return f"checkpoint of {body['step']}, effect {body['effect_id']}"
        case "recovered":
            return f"recovery receipt: {body['decision']}"
        case "intended":
            return f"intent {body['operation_id']}"
        case "begun":
            return f"begun as {body['code_path']}"
        case _:
            return f"{event['kind']}: {body.get('because', '')}".rstrip(": ")


def _end(process: ProcessRun) -> str:
    where = f" at {process.boundary}" if process.boundary else ""
    return f"exit {process.returncode}{where}" if process.returncode >= 0 else f"killed{where}"
