"""The whole protocol under SIGKILL: first run and resume killed at each boundary, each observation whole."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.harness import interventions
from labkit.harness.launchers import ExecLauncher
from labkit.harness.trials import Crash, child_spec, run_once
from labkit.harness.worlds import prepare, snapshot
from labkit.learning.judge import judge
from labkit.observations import Observation
from labkit.stores import chain

KEY = "order-1001:charge"
PAID = (KEY, 4000, "USD")
KILLED = -signal.SIGKILL
Whole = Callable[[Observation], dict[str, Any]]

# Where the first run is killed -> what the journal believes then, and whether the effect has happened.
FIRST = {
    Boundary.INTENT_RECORDED: ("NOT_ADMITTED", False),
    Boundary.ADMITTED: ("ADMITTED", False),
    Boundary.DISPATCHED: ("EFFECT_PENDING", False),
    Boundary.EFFECT_INSERTED: ("EFFECT_PENDING", False),
    Boundary.EFFECT_COMMITTED: ("EFFECT_PENDING", True),
    Boundary.ACKNOWLEDGED: ("EFFECT_COMMITTED", True),
    Boundary.CHECKPOINTED: ("OUTCOME_VERIFIED", True),
}
CHANGES = {"none": (), "mandate revoked": ("revoke_mandate",), "policy raised": ("raise_policy_version",)}

# The boundaries that a resume passes, in order, where the effect is missing and where it is there.
EXECUTING = (
    Boundary.CLAIMED,
    Boundary.EFFECT_READ,
    Boundary.DECIDED,
    Boundary.ADMITTED,
    Boundary.DISPATCHED,
    Boundary.EFFECT_INSERTED,
    Boundary.EFFECT_COMMITTED,
    Boundary.ACKNOWLEDGED,
    Boundary.CHECKPOINTED,
    Boundary.RECEIPT_WRITTEN,
)
COMPLETING = (
    Boundary.CLAIMED,
    Boundary.EFFECT_READ,
    Boundary.DECIDED,
    Boundary.CHECKPOINTED,
    Boundary.RECEIPT_WRITTEN,
)


def moment(state: str, paid: bool, checkpointed: bool, revoked: bool = False) -> dict[str, Any]:
    """The rows of one moment of the one charge."""
    return {
        "effects": [PAID] if paid else [],
        "checkpoints": [(KEY, 1)] if checkpointed else [],
        "state": [state],
        "mandate_revoked_at_ms": [1500 if revoked else None],
    }


def killed(boundary: str) -> tuple[Any, ...]:
    """A process that was killed at a boundary: it promised nothing and said nothing."""
    return KILLED, boundary, None, "", ""


def returned(result: str) -> tuple[Any, ...]:
    """A process that ran to its end."""
    return 0, None, result, f'"{result}"\n', ""


def may_finish(boundary: Boundary, change: str) -> bool:
    """What the contract says: an effect stays, an admission survives, a missing mandate or approval stops."""
    if FIRST[boundary][1] or change == "none":
        return True
    return change == "policy raised" and boundary != Boundary.INTENT_RECORDED


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("boundary", FIRST)
def test_a_first_run_killed_anywhere_is_resumed_as_promised(
    scenarios: Any, trial: Any, whole: Whole, boundary: Boundary, change: str
) -> None:
    """Seven boundaries times three histories, each judged by rows; resumed twice, the second changes nothing."""

    observed = trial(scenarios.protocol, Crash(boundary, interventions=CHANGES[change], resumes=2))

    state, paid = FIRST[boundary]
    finishes = may_finish(boundary, change)
    last = "OUTCOME_VERIFIED" if finishes else "NEEDS_REAUTHORISATION"
    assert whole(observed) == {
        "runs": [killed(boundary), returned(last), returned(last)],
        "interruption": moment(state, paid, checkpointed=boundary == Boundary.CHECKPOINTED),
        "final": moment(last, finishes, finishes, revoked=change == "mandate revoked"),
        "outcome": "judged",
        "verdicts": [("exactly_one" if finishes else "refused", True)],
    }
    assert evidence(observed) == {
        "receipts": decisions(boundary, change),
        "epochs": [1, 2, 3],
        "chain_breaks_at": None,
        "is_admitted": boundary != Boundary.INTENT_RECORDED or change != "policy raised",
    }


def decisions(boundary: Boundary, change: str) -> list[str]:
    """What the two resumes decided."""
    if FIRST[boundary][1]:
        return ["complete", "complete"]
    if may_finish(boundary, change):
        return ["execute", "complete"]
    # A revoked mandate shows at the provider's answer, a missing approval before anybody is asked.
    return ["execute", "execute"] if change == "mandate revoked" else ["reauthorise", "reauthorise"]


def evidence(observed: Observation) -> dict[str, Any]:
    """What the rows hold for somebody who was not there."""
    journal = observed.final["journal"]
    claims = [chain.body_of(event) for event in journal["events"] if event["kind"] == "claimed"]
    return {
        "receipts": [json.loads(row["receipt"])["decision"] for row in journal["recovery_receipts"]],
        "epochs": [claim["epoch"] for claim in claims],
        "chain_breaks_at": chain.first_break_of(journal),
        "is_admitted": bool(observed.final["authority"]["admissions"]),
    }


def killed_in_turn(
    folder: Path, scenario: Any, stops: Sequence[Boundary | None], changes: Sequence[str] = ()
) -> Observation:
    """One process after another, each killed at its boundary (None: it runs to its end).

    What `changes` names happens after the second of them.
    """
    prepare(folder, scenario.world)
    runs = []
    for number, boundary in enumerate(stops, 1):
        handler = scenario.first if number == 1 else scenario.resume
        spec = child_spec(handler, scenario, folder, number, Crash(boundary))
        runs.append(run_once(ExecLauncher(), spec, f"run {number}"))
        if number == 2:
            interruption = snapshot(folder)
            for name in changes:
                interventions.intervene(folder, name, number * 1000 + 500)
    return Observation(
        scenario.name, "kill", scenario.world.intents, tuple(runs), interruption, snapshot(folder)
    )


TWICE = [
    *((Boundary.INTENT_RECORDED, again) for again in (Boundary.CLAIMED, Boundary.ADMITTED)),  # admitted late
    *((Boundary.DISPATCHED, again) for again in EXECUTING),
    *((Boundary.EFFECT_COMMITTED, again) for again in COMPLETING),
]
PAID_BY = {
    Boundary.EFFECT_COMMITTED,
    Boundary.ACKNOWLEDGED,
    Boundary.CHECKPOINTED,
    Boundary.RECEIPT_WRITTEN,
}


@pytest.mark.parametrize(("first", "again"), TWICE, ids=lambda boundary: str(boundary))
def test_a_resume_killed_anywhere_is_resumed_again(
    tmp_path: Path, scenarios: Any, whole: Whole, first: Boundary, again: Boundary
) -> None:
    """Recovery is code like any other: it dies too, at each of its boundaries, and the next one ends right."""

    observed = killed_in_turn(tmp_path / "world", scenarios.protocol, (first, again, None))

    paid = FIRST[first][1] or again in PAID_BY
    checkpointed = again in (Boundary.CHECKPOINTED, Boundary.RECEIPT_WRITTEN)
    found = whole(observed)
    assert found["runs"] == [killed(first), killed(again), returned("OUTCOME_VERIFIED")]
    assert found["interruption"]["effects"] == ([PAID] if paid else [])
    assert found["interruption"]["checkpoints"] == ([(KEY, 1)] if checkpointed else [])
    assert found["final"] == moment("OUTCOME_VERIFIED", paid=True, checkpointed=True)
    assert [verdict.name for verdict in judge(observed)] == ["exactly_one"]
    assert evidence(observed)["epochs"] == [1, 2, 3]
    assert evidence(observed)["chain_breaks_at"] is None


@pytest.mark.parametrize("again", EXECUTING)
def test_a_mandate_revoked_under_a_dying_recovery_stops_what_has_not_happened(
    tmp_path: Path, scenarios: Any, again: Boundary
) -> None:
    """The recovery is killed, then permission goes: an effect that is there is completed, another is refused."""

    observed = killed_in_turn(
        tmp_path / "world", scenarios.protocol, (Boundary.DISPATCHED, again, None), ["revoke_mandate"]
    )

    paid = again in PAID_BY
    assert [run.result for run in observed.runs] == [
        None,
        None,
        "OUTCOME_VERIFIED" if paid else "NEEDS_REAUTHORISATION",
    ]
    assert len(observed.final["payments"]["effects"]) == int(paid)
    assert [verdict.name for verdict in judge(observed)] == ["exactly_one" if paid else "refused"]


def test_five_deaths_in_a_row_end_right(tmp_path: Path, scenarios: Any) -> None:
    """Each run gets one boundary further than the one before, and the last one finds everything done."""

    stops = (
        Boundary.INTENT_RECORDED,
        Boundary.DECIDED,
        Boundary.DISPATCHED,
        Boundary.EFFECT_INSERTED,
        Boundary.EFFECT_COMMITTED,
        None,
    )
    observed = killed_in_turn(tmp_path / "world", scenarios.protocol, stops)

    assert [run.returncode for run in observed.runs] == [KILLED] * 5 + [0]
    assert [verdict.name for verdict in judge(observed)] == ["exactly_one"]
    assert evidence(observed) == {
        "receipts": ["complete"],
        "epochs": [1, 2, 3, 4, 5, 6],
        "chain_breaks_at": None,
        "is_admitted": True,
    }
    assert [row["epoch"] for row in observed.final["payments"]["effects"]] == [5]
