"""`lab demo`, `lab study`, `lab doctor`: runs that leave evidence, and looking at what was left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.errors import BadOption
from labkit.ui.output import JsonOption, complain, print_json, print_line, print_table, progress

if TYPE_CHECKING:
    from labkit.harness.packets import Packet


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.command()(demo)
    app.command()(study)
    app.command()(doctor)


def study(
    out: Annotated[Path | None, typer.Option(help="Write the packet to this new JSON file.")] = None,
    repetitions: Annotated[int, typer.Option(help="How often each case runs, 1 to 20.")] = 3,
    budget: Annotated[
        bool, typer.Option("--budget", help="Study what failures do to a budget instead.")
    ] = False,
    verify: Annotated[Path | None, typer.Option(help="Check a packet instead of running anything.")] = None,
    json: JsonOption = False,
) -> None:
    """Run the seven registered interventions with real kills, or verify the packet of an earlier study."""
    from labkit.harness import studies

    if (out is None) == (verify is None):
        raise BadOption("study needs a file", "give either --out FILE.json or --verify FILE.json")
    if verify is not None:
        return verify_packet(verify, json)
    assert out is not None
    run_study(studies.BUDGET if budget else studies.INTERVENTIONS, repetitions, out, json)
    return None


def run_study(which: Any, repetitions: int, out: Path, json: bool) -> None:
    """Run one study, write its packet, show what came of it."""
    from labkit.harness import packets, studies
    from labkit.learning.judge import judge

    studies.require_repetitions(repetitions)
    packets.require_new(out)
    with progress(f"{which.kind} study", repetitions * len(which.cases)) as advance:
        packet = studies.run_study(which, repetitions, judge, advance)
    packets.write_new(out, packet)
    if json:
        print_json({"out": str(out), **studies.summary(packet)})
    else:
        show_study(packet, out)
    if packet["totals"]["failed"]:
        raise typer.Exit(1)


def show_study(packet: Packet, out: Path) -> None:
    """One row a case: what its trials came to, safety and task beside each other."""
    totals = packet["totals"]
    last = "allowance left" if packet["kind"] == "budget" else "task"
    columns = ("case", "first run", "then", "answer", "effects", "verdict", "safety", last, "contract")
    print_table(columns, _study_rows(packet), title=f"{totals['trials']} trials, each in new stores")
    for record in packet["trials"]:
        if not record["contract"]["passed"]:
            for because in record["contract"]["because"]:
                complain(f"{record['case']}, repetition {record['repetition']}: {because}")
    print_line(f"{totals['passed']} of {totals['trials']} as expected; {out}")
    print_line(packet["repetitions_mean"])
    print_line(packet["shows"])


def _study_rows(packet: Packet) -> Iterator[tuple[object, ...]]:
    for case, effects in packet["totals"]["final_effects"].items():
        records = [record for record in packet["trials"] if record["case"] == case]
        contract = records[0]["contract"]
        passed = [record["contract"]["passed"] for record in records]
        word = "FAIL" if not all(passed) else "pass" if contract["safe"] else "caught"
        yield (
            case,
            contract["ends"][0],
            ", ".join(contract["ends"][1:]),
            records[0]["resumed_result"],
            " ".join(str(count) for count in effects),
            ", ".join(contract["verdicts"]),
            "safe" if contract["safe"] else "not safe",
            _task_or_allowance(contract),
            f"{word} {sum(passed)}/{len(passed)}",
        )


def _task_or_allowance(contract: dict[str, Any]) -> str:
    if "remaining_effects" in contract:
        return " -> ".join(str(left) for left in contract["remaining_effects"] if left is not None)
    return "resolved" if contract["task_resolved"] else "not resolved"


def verify_packet(path: Path, json: bool) -> None:
    """Verify one packet; exit 1 where it was changed or its rows say otherwise than it does."""
    from labkit.harness.verification import verify
    from labkit.learning.judge import judge

    found = verify(path, judge)
    if json:
        print_json({"file": str(path), "passed": found.passed, "kind": found.kind, "trials": found.trials,
                    "problems": found.problems, "notes": found.notes})  # fmt: skip
    else:
        for problem in found.problems:
            complain(f"{path}: {problem}")
        for note in found.notes:
            print_line(f"note: {note}")
        if found.passed:
            print_line(f"{path}: {found.trials} trials, every digest and verdict holds")
    if not found.passed:
        raise typer.Exit(1)


def demo(
    out: Annotated[Path, typer.Option(help="Leave the evidence in this new or empty folder.")],
    json: JsonOption = False,
) -> None:
    """Crash two payments right after they commit, one with an idempotency key and one without."""
    from labkit.harness.demo import run_demo
    from labkit.learning.judge import judge

    receipt = run_demo(out, judge)
    if json:
        print_json({"out": str(out), **receipt})
    else:
        rows = [
            (name, flow["child"]["exit_code"], len(flow["resumes"]), flow["effects"], flow["replayed"],
             flow["state"], flow["next"])
            for name, flow in receipt["workflows"].items()
        ]  # fmt: skip
        columns = ("workflow", "first run left by", "resumes", "effects", "replayed", "state", "next")
        print_table(
            columns,
            rows,
            title="The same crash twice: after the ledger commits, before the journal hears of it",
        )
        print_line(f"{receipt['total_effects']} effects in the ledger; evidence in {out}")
        print_line(receipt["shows"])
    for shortfall in receipt["because"]:
        complain(shortfall)
    if not receipt["passed"]:
        raise typer.Exit(1)


def doctor(
    folder: Annotated[Path | None, typer.Argument(help="Also check every store in this folder.")] = None,
    json: JsonOption = False,
) -> None:
    """Check this machine, and the stores of a folder: owner, schema, integrity, event chain, digests."""
    from labkit.harness import checkup, checkup_stores

    stores = [] if folder is None else checkup_stores.stores_in(folder)
    findings = [*checkup.machine(), *(found for path in stores for found in checkup_stores.examine(path))]
    worst = max(finding.exit_code for finding in findings)
    if json:
        print_json({"passed": worst == 0, "findings": findings})
    else:
        print_table(("what", "status", "found"), [(f.what, f.status, f.found) for f in findings])
    for finding in findings:
        if finding.status == "fault":
            complain(f"{finding.what}: {finding.found}")
    if worst:
        raise typer.Exit(worst)
    if folder is None and not json:
        print_line("\nThe katas can run here: lab next begins.")
