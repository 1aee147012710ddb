"""One trial: what became of it is known, and only rows that mean something are judged."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.boundaries import Boundary
from labkit.errors import BadHandler, HarnessError, OutputInUse, UnknownName
from labkit.harness import trials
from labkit.harness.child import ChildSpec
from labkit.harness.launchers import ExecLauncher
from labkit.harness.piped import PipedChild
from labkit.harness.trials import Crash, Handler, Scenario, run_trial
from labkit.harness.worlds import one_charge
from labkit.observations import Observation, Verdict

HANDLERS = """
import os, signal, sys
from labkit.kata import Boundary, atomic

def pays(world):
    operation = world.operation()
    result = world.payments.submit(operation.operation_id, operation.action)
    if result.receipt is None:
        return result.status
    with atomic(world.journal.db):
        if not operation.checkpointed:
            world.journal.checkpoint(operation.operation_id, result.receipt, world.now_ms)
    world.reached(Boundary.CHECKPOINTED)
    return result.status

def never_gets_there(world):
    return "done"

def dies_on_its_own(world):
    os.kill(os.getpid(), signal.SIGKILL)

def leaves_by_86_on_its_own(world):
    os._exit(86)

def hangs(world):
    signal.pause()

def hides_its_boundary(world):
    world.reached(Boundary.EFFECT_COMMITTED)

def catches_everything(world):
    try:
        world.reached(Boundary.CHECKPOINTED)
    except BaseException:
        pass
    finally:
        print("cleaned up", flush=True)
    return "survived"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A worker that pays, and pays again when resumed: the ledger recognises it."""
    file = tmp_path / "handlers.py"
    file.write_text(HANDLERS, encoding="utf-8")
    return Scenario("pays", one_charge(), Handler(file, "pays"), Handler(file, "pays"))


def first(scenario: Scenario, function: str) -> Scenario:
    """The same scenario with another first run."""
    return replace(scenario, first=replace(scenario.first, function=function))


def must_not_judge(_: Observation) -> tuple[Verdict, ...]:
    """A judge for trials whose rows mean nothing."""
    pytest.fail("rows of a trial that did not go as planned were judged")


def counts(observation: Observation) -> dict[str, tuple[int, int]]:
    """Effects and checkpoints at the interruption and in the end."""
    moments = {"interruption": observation.interruption, "final": observation.final}
    return {
        name: (len(rows["payments"]["effects"]), len(rows["journal"]["checkpoints"]))
        for name, rows in moments.items()
        if rows
    }


def test_a_trial_keeps_both_moments_and_every_process(tmp_path: Path, scenario: Scenario) -> None:
    """Killed after the commit: one effect and no checkpoint then, both in the end."""

    seen = run_trial(scenario, Crash(Boundary.EFFECT_COMMITTED, resumes=2), tmp_path / "world")

    assert (seen.outcome, seen.fault, seen.verdicts) == ("judged", "hold at effect.committed", ())
    assert counts(seen) == {"interruption": (1, 0), "final": (1, 1)}
    assert [(run.role, run.returncode, run.result) for run in seen.runs] == [
        ("first", -9, None),
        ("resume", 0, "already_committed"),
        ("resume", 0, "already_committed"),
    ]
    assert seen.intents == (("payments", "charge", "order-1001"),)


def test_what_happens_in_between_happens_after_the_crash_and_before_the_resume(
    tmp_path: Path, scenario: Scenario
) -> None:
    """The permission is withdrawn at 1500 ms: the first run at 1000 ms had it, the resume at 2000 ms has not."""

    crash = Crash(Boundary.EFFECT_INSERTED, interventions=("revoke_mandate",))
    seen = run_trial(scenario, crash, tmp_path / "world")
    assert seen.interruption is not None

    assert [row["revoked_at_ms"] for row in seen.interruption["payments"]["mandates"]] == [None]
    assert [row["revoked_at_ms"] for row in seen.final["payments"]["mandates"]] == [1500]
    assert seen.runs[1].result == "mandate_revoked"


NOT_KILLED = {
    "the boundary never came": ("never_gets_there", "hold", "reached no such boundary and returned 0"),
    "it died of something else": ("dies_on_its_own", "hold", "reached no such boundary and returned -9"),
    "it was to kill itself there": ("dies_on_its_own", "kill_self", "reached no such boundary and returned -9"),
    "it left by the same code elsewhere": ("leaves_by_86_on_its_own", "exit_86", "reached no such boundary and returned 86"),
    "it was to leave by 86": ("never_gets_there", "exit_86", "reached no such boundary and returned 0"),
    "another boundary": ("hides_its_boundary", "hold", "reached no such boundary and returned 0"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "stop", "says"), NOT_KILLED.values(), ids=NOT_KILLED)
def test_a_child_that_was_to_be_killed_and_ended_otherwise_is_not_killed(
    tmp_path: Path, scenario: Scenario, function: str, stop: Any, says: str
) -> None:
    """Never a silent pass: the trial says what it expected and what it got, and nothing is judged."""

    crash = Crash(Boundary.CHECKPOINTED, stop=stop, resumes=0)
    seen = run_trial(first(scenario, function), crash, tmp_path / "world", must_not_judge)

    assert (seen.outcome, seen.verdicts) == ("not_killed", ())
    assert f"the first run was to stop at checkpoint.recorded; it {says}" == seen.explanation


def test_nothing_that_a_handler_catches_keeps_it_alive(tmp_path: Path, scenario: Scenario) -> None:
    """SIGKILL is not an exception: no `except`, no `finally`, no last word."""

    seen = run_trial(
        first(scenario, "catches_everything"), Crash(Boundary.CHECKPOINTED, resumes=0), tmp_path / "world"
    )

    assert (seen.outcome, seen.runs[0].returncode, seen.runs[0].stdout_tail) == (
        "judged",
        -signal.SIGKILL,
        "",
    )


@pytest.mark.parametrize("boundary", [None, Boundary.CHECKPOINTED], ids=["to its end", "to a boundary"])
def test_a_run_past_its_deadline_is_timed_out(
    tmp_path: Path, scenario: Scenario, boundary: Boundary | None
) -> None:
    """Also the one that was to be killed and hung on the way; -9 alone does not make it a kill."""

    crash = Crash(boundary, resumes=0, deadline_s=0.2)
    seen = run_trial(first(scenario, "hangs"), crash, tmp_path / "world", must_not_judge)

    assert (seen.outcome, seen.explanation) == ("timed_out", "a run passed its deadline and was killed")
    assert seen.runs[0].returncode == -signal.SIGKILL


def test_a_resume_past_its_deadline_is_timed_out_too(tmp_path: Path, scenario: Scenario) -> None:
    """A recovery that hangs is no recovery, and no verdict either."""

    hanging = replace(scenario, resume=replace(scenario.resume, function="hangs"))
    seen = run_trial(
        hanging, Crash(Boundary.EFFECT_COMMITTED, deadline_s=2.0), tmp_path / "world", must_not_judge
    )

    assert seen.outcome == "timed_out"
    assert counts(seen) == {"interruption": (1, 0), "final": (1, 0)}


def test_the_judge_is_given_what_the_trial_recorded(tmp_path: Path, scenario: Scenario) -> None:
    """It is an argument, and its word is kept with the rows."""

    verdict, given = Verdict("exactly_one", True, "because"), []

    def judge(observation: Observation) -> tuple[Verdict, ...]:
        given.append(observation)
        return (verdict,)

    seen = run_trial(scenario, Crash(), tmp_path / "world", judge)

    assert [replace(seen, verdicts=())] == given
    assert (verdict,) == seen.verdicts


def test_a_used_folder_is_refused_before_anything_runs(tmp_path: Path, scenario: Scenario) -> None:
    """Evidence is never written over; not a byte of it changes."""

    run_trial(scenario, Crash(resumes=0), tmp_path / "world")
    before = {path: path.read_bytes() for path in (tmp_path / "world").iterdir()}

    with pytest.raises(OutputInUse, match="is not empty: choose a new folder"):
        run_trial(scenario, Crash(), tmp_path / "world", launcher=NoLauncher())
    assert before == {path: path.read_bytes() for path in (tmp_path / "world").iterdir()}


class NoLauncher:
    """Starts nothing."""

    def start(self, spec: ChildSpec) -> PipedChild:
        """Fail the test."""
        pytest.fail(f"{spec.function} was started")


def test_an_unknown_intervention_is_named(tmp_path: Path, scenario: Scenario) -> None:
    """A misspelt one would be a trial of something else."""

    with pytest.raises(UnknownName, match="intervention revoke is not known: choose one of revoke_mandate"):
        run_trial(scenario, Crash(interventions=("revoke",)), tmp_path / "world")


class InterruptedLauncher:
    """Starts real children, and is interrupted as soon as one runs."""

    def __init__(self) -> None:
        self.child: PipedChild | None = None

    def start(self, spec: ChildSpec) -> PipedChild:
        """Start a child whose boundary is never waited for to the end."""
        self.child = ExecLauncher().start(spec)
        self.child.until_boundary = self.interrupted  # type: ignore[method-assign]
        return self.child

    def interrupted(self, _deadline_s: float = 0.0) -> str | None:
        """Ctrl-C."""
        raise KeyboardInterrupt


def test_an_interrupted_trial_leaves_no_child(tmp_path: Path, scenario: Scenario) -> None:
    """Ctrl-C in a notebook does not leave a worker behind that pays later."""

    launcher = InterruptedLauncher()
    with pytest.raises(KeyboardInterrupt):
        run_trial(
            first(scenario, "hangs"), Crash(Boundary.CHECKPOINTED), tmp_path / "world", launcher=launcher
        )

    assert launcher.child is not None
    assert launcher.child.returncode == -signal.SIGKILL


ENDS = {Crash(): 0, Crash("effect.committed"): -9, Crash("effect.committed", "kill_self"): -9,
        Crash("effect.committed", "exit_86"): 86, Crash("effect.committed", "never"): 0}  # fmt: skip


@pytest.mark.parametrize(
    ("crash", "code"), ENDS.items(), ids=lambda value: str(getattr(value, "stop", value))
)
def test_how_a_first_run_must_end_follows_from_the_crash(crash: Crash, code: int) -> None:
    """0, -9 or 86, and nothing else counts."""

    assert code == trials.expected_returncode(crash)


def test_a_machine_that_cannot_start_children_is_no_verdict(tmp_path: Path, scenario: Scenario) -> None:
    """The error passes through: it is not what the worker did."""

    class Broken:
        def start(self, spec: ChildSpec) -> PipedChild:
            raise HarnessError(f"{spec.function} could not be started", "check memory")

    with pytest.raises(HarnessError):
        run_trial(scenario, Crash(), tmp_path / "world", must_not_judge, Broken())


@pytest.mark.parametrize(
    "text", ["def pays(world:\n", "import nothing_of_that_name\n"], ids=["no Python", "no import"]
)
def test_a_handler_that_cannot_be_loaded_says_so_in_one_line(
    tmp_path: Path, scenario: Scenario, text: str
) -> None:
    """Exit 2 with the file and the cure, in a run that changed nothing."""

    scenario.first.file.write_text(text, encoding="utf-8")
    seen = run_trial(scenario, Crash(resumes=0), tmp_path / "world")
    [line] = seen.runs[0].stderr_tail.splitlines()

    assert (seen.runs[0].returncode, line.startswith(f"{BadHandler.__name__}: handlers.py ")) == (2, True)
    assert "mend it and run again" in line
    assert seen.interruption == seen.final
