"""The registered interventions, each asserted whole: exits, words and rows of every process and both moments."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.harness.trials import Crash
from labkit.observations import Observation

KEY = "order-1001:charge"
PAID = (KEY, 4000, "USD")
KILLED = -signal.SIGKILL
Whole = Callable[[Observation], dict[str, Any]]


def moment(
    effects: list[Any], checkpoints: list[Any], state: str, revoked_at_ms: int | None = None
) -> dict[str, Any]:
    """The rows of one moment of the one charge."""
    return {
        "effects": effects,
        "checkpoints": checkpoints,
        "state": [state],
        "mandate_revoked_at_ms": [revoked_at_ms],
    }


def killed(boundary: str) -> tuple[Any, ...]:
    """A process that was killed at a boundary: it promised nothing and said nothing."""
    return KILLED, boundary, None, "", ""


def returned(result: str) -> tuple[Any, ...]:
    """A process that ran to its end."""
    return 0, None, result, f'"{result}"\n', ""


NOTHING = moment([], [], "EFFECT_PENDING")
UNHEARD = moment([PAID], [], "EFFECT_PENDING")
DONE = moment([PAID], [(KEY, 1)], "EFFECT_COMMITTED")
PASS = [("exactly_one", True)]

# id: scenario, crash, what was observed
INTERVENTIONS: dict[str, tuple[str, Crash, dict[str, Any]]] = {
    "control": ("payment", Crash(resumes=0), {
        "runs": [returned("committed")],
        "interruption": DONE, "final": DONE, "verdicts": PASS,
    }),
    "kill_before_effect": ("payment", Crash(Boundary.BEFORE_EFFECT), {
        "runs": [killed("effect.requested"), returned("committed")],
        "interruption": NOTHING, "final": DONE, "verdicts": PASS,
    }),
    "kill_before_checkpoint": ("payment", Crash(Boundary.EFFECT_COMMITTED), {
        "runs": [killed("effect.committed"), returned("already_committed")],
        "interruption": UNHEARD, "final": DONE, "verdicts": PASS,
    }),
    "kill_after_checkpoint": ("payment", Crash(Boundary.CHECKPOINTED), {
        "runs": [killed("checkpoint.recorded"), returned("already_committed")],
        "interruption": DONE, "final": DONE, "verdicts": PASS,
    }),
    "mutant_new_key": ("new_key", Crash(Boundary.EFFECT_COMMITTED), {
        "runs": [killed("effect.committed"), returned("committed")],
        "interruption": UNHEARD,
        "final": moment([PAID, (f"{KEY}:retry-2", 4000, "USD")], [(f"{KEY}:retry-2", 2)], "EFFECT_COMMITTED"),
        "verdicts": [("duplicate", False)],
    }),
    "revoke_before_effect": ("payment", Crash(Boundary.BEFORE_EFFECT, interventions=("revoke_mandate",)), {
        "runs": [killed("effect.requested"), returned("mandate_revoked")],
        "interruption": NOTHING, "final": moment([], [], "NEEDS_REAUTHORISATION", 1500),
        "verdicts": [("refused", True)],
    }),
    "revoke_after_effect": ("payment", Crash(Boundary.EFFECT_COMMITTED, interventions=("revoke_mandate",)), {
        "runs": [killed("effect.committed"), returned("already_committed")],
        "interruption": UNHEARD, "final": moment([PAID], [(KEY, 1)], "EFFECT_COMMITTED", 1500), "verdicts": PASS,
    }),
}  # fmt: skip


@pytest.mark.parametrize("id", INTERVENTIONS)
def test_an_intervention_leaves_exactly_this(id: str, scenarios: Any, trial: Any, whole: Whole) -> None:  # noqa: A002
    """A real SIGKILL at the boundary, and every row and word before and after it."""

    scenario, crash, expected = INTERVENTIONS[id]

    assert {"outcome": "judged", **expected} == whole(trial(getattr(scenarios, scenario), crash))


def test_a_kill_inside_the_ledgers_transaction_undoes_the_effect(
    scenarios: Any, trial: Any, whole: Whole
) -> None:
    """The hot journal that the killed writer left is rolled back by whoever looks next."""

    seen = whole(trial(scenarios.payment, Crash(Boundary.EFFECT_INSERTED)))

    assert ([killed("effect.inserted"), returned("committed")], NOTHING, DONE) == (
        seen["runs"], seen["interruption"], seen["final"]
    )  # fmt: skip


def test_however_often_it_is_resumed_there_is_one_effect(scenarios: Any, trial: Any, whole: Whole) -> None:
    """A second and a third resume change nothing."""

    seen = whole(trial(scenarios.payment, Crash(Boundary.EFFECT_COMMITTED, resumes=3)))

    assert [returned("already_committed")] * 3 == seen["runs"][1:]
    assert (seen["final"], seen["verdicts"]) == (DONE, PASS)


def test_leaving_by_86_is_a_crash_like_any_other(scenarios: Any, trial: Any, whole: Whole) -> None:
    """Nothing is cleaned up and nothing is said, and the exit code is verified."""

    seen = whole(trial(scenarios.payment, Crash(Boundary.EFFECT_COMMITTED, stop="exit_86")))

    assert (seen["runs"][0], seen["interruption"], seen["final"]) == (
        (86, "effect.committed", None, "", ""),
        UNHEARD,
        DONE,
    )


@pytest.mark.parametrize("stop", ["hold", "kill_self"])
def test_it_does_not_matter_who_sends_the_signal(scenarios: Any, trial: Any, whole: Whole, stop: Any) -> None:
    """Killed by the parent while it waits, or by itself at the same place: the same observation."""

    seen = whole(trial(scenarios.payment, Crash(Boundary.EFFECT_COMMITTED, stop=stop)))

    assert INTERVENTIONS["kill_before_checkpoint"][2] | {"outcome": "judged"} == seen


def test_the_attempt_is_durable_before_the_call_that_it_records(scenarios: Any, trial: Any) -> None:
    """A result supersedes nothing that is not on disk: killed in the call, the attempt stands with no answer."""

    observation = trial(scenarios.protocol, Crash(Boundary.EFFECT_INSERTED, resumes=0))
    journal = observation.final["journal"]

    assert [row["outcome"] for row in journal["attempts"]] == [None]
    assert [row["state"] for row in journal["operations"]] == ["EFFECT_PENDING"]
    assert observation.final["payments"]["effects"] == []
