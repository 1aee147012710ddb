"""Sweeps of handlers with labkit's World, and the machinery below them: positive controls throughout."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadHandler, BadOption, UnknownName
from labkit.grading.sweeping import Request, prepared_job, repeat, sweep
from labkit.harness import worlds
from labkit.harness.jobs import SweepJob, clone
from labkit.harness.launchers import ExecLauncher
from labkit.harness.pool import Pool
from labkit.observations import PointResult

ROOT = Path(__file__).parents[2]
WORKERS = ROOT / "labkit" / "harness" / "workers"
PAYMENT = f"{WORKERS / 'payment.py'}:pay"
NEW_KEY = f"{WORKERS / 'mutant_new_key.py'}:resume"
FULL = f"{WORKERS / 'full_protocol.py'}:pay"
ORDERS = ROOT / "data" / "examples" / "orders"
STATEMENTS = ("statement", "boundary")


def labels(results: tuple[PointResult, ...], *names: str) -> list[str]:
    """The labels, without their numbers, of the points that ended in these verdicts."""
    return [result.schedule[0].label.split(" ", 1)[1] for result in results if result.names == names]


def test_the_reference_passes_at_every_point(pool: Pool) -> None:
    """Lines, statements and boundaries in one numbered stream, each killed by SIGKILL."""

    swept = sweep(Request(PAYMENT, resume="resume"), pool)

    assert swept.passed
    assert swept.verdicts == {"exactly_one"}
    assert [point.number for point in swept.points] == list(range(1, len(swept.points) + 1))
    assert {point.kind for point in swept.points} == {"line", "statement", "boundary"}
    assert [result.schedule for result in swept.results] == [(point,) for point in swept.points]


def test_a_new_key_handler_is_right_up_to_the_commit_and_wrong_after_it(pool: Pool) -> None:
    """The ledger's COMMIT is where the payment becomes a fact, and the checkpoint where it is known."""

    swept = sweep(Request(PAYMENT, resume=NEW_KEY, points=STATEMENTS), pool)

    source = (WORKERS / "payment.py").read_text(encoding="utf-8").splitlines()
    submit = 1 + next(number for number, line in enumerate(source) if "payments.submit(" in line)
    checkpoint = 1 + next(number for number, line in enumerate(source) if "world.journal.checkpoint(" in line)
    ledger_commit = labels(swept.results, "exactly_one").index(f"COMMIT at line {submit}")
    duplicates = [result for result in swept.results if result.names == ("duplicate",)]
    numbers = [result.schedule[0].number for result in duplicates]
    assert swept.verdicts == {"exactly_one", "duplicate"}
    assert numbers == list(range(ledger_commit + 2, ledger_commit + 2 + len(numbers)))
    assert duplicates[0].schedule[0].label.endswith(f"effect.committed at line {submit}")
    assert checkpoint in {result.schedule[0].line for result in duplicates}
    assert all(result.happened == {"charge order-1001": 2} for result in duplicates)
    assert all(result.happened == {"charge order-1001": 1} for result in swept.results if result.passed)


def test_depth_two_kills_the_recovery_as_well(pool: Pool) -> None:
    """Every pair; the run that follows them is free of faults."""

    request = Request(f"{ORDERS / 'new_key.py'}", points=("statement",), depth="2")
    swept = sweep(request, pool)

    assert {len(result.schedule) for result in swept.results} == {2}
    assert all(result.promised[:2] == (None, None) for result in swept.results)
    assert swept.verdicts == {"exactly_one", "duplicate"}


def rows_after(job: SweepJob, at: int) -> dict[str, int]:
    """The ledger's effects and the journal's checkpoints where a fresh interpreter died at point `at`."""
    folder = clone(job.template, job.scratch)
    with ExecLauncher().start(job.spec(folder, 1, at, [])) as child:
        run = child.finish("first", 10.0)
    assert run.returncode == -signal.SIGKILL
    rows = worlds.snapshot(folder)
    return {"effects": len(rows["payments"]["effects"]), "checkpoints": len(rows["journal"]["checkpoints"])}


def test_a_kill_at_commit_leaves_no_row_and_one_at_the_next_point_leaves_one(pool: Pool) -> None:
    """The trace callback fires before the statement: dying at COMMIT is dying uncommitted."""

    request = Request(PAYMENT, resume="resume", points=STATEMENTS)
    names = [point.label.split()[1] for point in sweep(request, pool).points]
    ledger, journal = [number for number, name in enumerate(names, 1) if name == "COMMIT"]
    with prepared_job(request) as job:
        assert rows_after(job, ledger) == {"effects": 0, "checkpoints": 0}
        assert rows_after(job, ledger + 1) == {"effects": 1, "checkpoints": 0}
        assert rows_after(job, journal) == {"effects": 1, "checkpoints": 0}
        assert rows_after(job, journal + 1) == {"effects": 1, "checkpoints": 1}


TWISTS = {
    "revoke_mandate": (PAYMENT, "resume", {"exactly_one", "refused"}),
    "budget_of_one": (PAYMENT, "resume", {"exactly_one"}),
    "second_worker": (PAYMENT, "resume", {"exactly_one"}),
    "approval_expires": (FULL, "resume", {"exactly_one", "refused"}),
    "raise_policy_version,approval_expires": (FULL, "resume", {"exactly_one", "refused"}),
}


@pytest.mark.parametrize("world", TWISTS)
def test_a_harder_world_is_passed_as_well(pool: Pool, world: str) -> None:
    """Between the crash and the resume the world moves on; no payment is made without authority."""

    first, resume, verdicts = TWISTS[world]
    request = Request(first, resume=resume, points=("boundary",), world=tuple(world.split(",")))
    swept = sweep(request, pool)

    assert swept.passed, [
        (r.schedule[0].label, r.names, r.explanation) for r in swept.results if not r.passed
    ]
    assert swept.verdicts == verdicts


def test_a_budget_of_one_stops_the_second_payment_whatever_its_key(pool: Pool) -> None:
    """The mutant asks for it as before; the provider refuses, and its rows are what is judged."""

    swept = sweep(Request(PAYMENT, resume=NEW_KEY, points=("boundary",), world=("budget_of_one",)), pool)

    assert swept.verdicts == {"exactly_one"}
    assert {result.happened["charge order-1001"] for result in swept.results} == {1}


def test_two_workers_that_resume_side_by_side_are_both_run(pool: Pool) -> None:
    """The rival of a new-key handler pays as well, since nothing fences the two."""

    request = Request(str(ORDERS / "new_key.py"), points=("statement",), world=("second_worker",))
    swept = sweep(request, pool)

    assert all(len(result.promised) >= 3 for result in swept.results)
    assert "duplicate" in swept.verdicts


def test_paused_workers_wake_up_to_find_it_done(pool: Pool) -> None:
    """SIGSTOP is not death: a second worker finishes, and the first one then goes on."""

    swept = sweep(Request(PAYMENT, resume="resume", points=("boundary",), fault="pause"), pool)

    assert swept.passed
    assert all(result.promised[0] is not None for result in swept.results)


def test_lost_replies_are_swept_call_by_call(pool: Pool) -> None:
    """The effect commits and the living caller is not told: no kill can reach this."""

    swept = sweep(Request(PAYMENT, resume="resume", fault="lost_reply"), pool)

    assert swept.passed
    assert [point.label.split(" ", 1)[1].split(" at ")[0] for point in swept.points] == ["reply to submit"]
    assert swept.results[0].happened == {"charge order-1001": 1}


def test_a_foreign_handler_has_no_reply_to_lose(pool: Pool) -> None:
    """A fault that cannot happen is wrong use, and not a pass at zero points."""

    with pytest.raises(BadHandler, match="has no reply to lose"):
        sweep(Request(str(ORDERS / "right.py"), fault="lost_reply"), pool)


def test_one_trial_is_repeated_by_its_numbers(pool: Pool) -> None:
    """The shell line that a result carries asks for the same trial, and gets the same rows."""

    request = Request(str(ORDERS / "new_key.py"), points=("statement",))
    swept = sweep(request, pool)
    bad = next(result for result in swept.results if not result.passed)

    again = repeat(request, [point.number for point in bad.schedule], pool)

    assert (again.names, again.happened, again.recorded) == (bad.names, bad.happened, bad.recorded)
    assert again.schedule == bad.schedule
    assert bad.command == f"lab sweep {ORDERS / 'new_key.py'} --points statement --fault kill --at 5"


def test_a_program_is_swept_from_outside(pool: Pool) -> None:
    """An unmodified program in fresh interpreters: the same statements, the same verdicts."""

    command = f"{sys.executable} {ORDERS / 'worker.py'} {{world}}"
    request = Request(
        str(ORDERS / "right.py"), command=command, facts=str(ORDERS / "shop.py"), points=("statement",)
    )
    by_hand = sweep(Request(str(ORDERS / "right.py"), points=("statement",)), pool)

    swept = sweep(request, pool)

    assert swept.passed
    assert [point.label for point in swept.points] == [point.label for point in by_hand.points]
    assert swept.results[-1].promised == (None, "paid")
    assert swept.first == (str(ORDERS / "right.py"), "<module>")


def test_a_program_that_does_not_load_the_crash_points_is_refused(pool: Pool, tmp_path: Path) -> None:
    """Python with -I reads no PYTHONPATH: nothing would be killed, and everything would pass."""

    (tmp_path / "idle.py").write_text("print('paid')", encoding="utf-8")
    command = f"{sys.executable} -I {tmp_path / 'idle.py'} {{world}}"

    with pytest.raises(BadHandler, match=r"^idle.py did not load the crash points: start python itself"):
        sweep(Request(command=command, facts=str(ORDERS / "shop.py")), pool)


def test_the_injection_steps_aside(tmp_path: Path) -> None:
    """A sitecustomize that was there before still runs; the program's own children are left alone."""

    (tmp_path / "sitecustomize.py").write_text("print('the other one')", encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(
        "import os, subprocess, sys, sitecustomize\n"
        "print(sitecustomize.__file__, os.environ['PYTHONPATH'], 'LABKIT_CRASH_ORDER' in os.environ)\n"
        "subprocess.run([sys.executable, '-c', 'print(1)'])\n",
        encoding="utf-8",
    )
    injection = ROOT / "labkit" / "harness" / "injection"
    order = {"report_fd": -1, "file": str(program), "points": ["line"], "at": 0, "fault": "kill",
             "seed": "1", "now_ms": 1000, "evidence": []}  # fmt: skip
    environment = {
        **os.environ, "PYTHONPATH": f"{injection}{os.pathsep}{tmp_path}", "LABKIT_CRASH_ORDER": json.dumps(order),
    }  # fmt: skip

    ran = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "the other one",
        f"{tmp_path / 'sitecustomize.py'} {tmp_path} False",
        "the other one",
        "1",
    ]


WRONG_REQUESTS = {
    "depth": ({"depth": "3"}, "--depth 3 is not known"),
    "fault": ({"fault": "power"}, "--fault power is not known"),
    "points": ({"points": ("lines",)}, "--points lines is not known"),
    "no points": ({"points": ()}, "--points is empty"),
    "deadline": ({"deadline_s": 0.0}, "--deadline is 0"),
    "command alone": ({"command": "python x.py"}, "--command and --facts go together"),
    "all and pause": ({"depth": "all", "fault": "pause"}, "--depth all explores kills"),
}


@pytest.mark.parametrize(("options", "said"), WRONG_REQUESTS.values(), ids=WRONG_REQUESTS.keys())
def test_a_request_that_means_nothing_is_refused(options: dict[str, Any], said: str) -> None:
    """Before anything runs."""

    with pytest.raises(BadOption, match=said):
        Request("handler.py", **options)


def test_unknown_worlds_and_missing_files_are_named(pool: Pool) -> None:
    """One line that says which, and what there is."""

    with pytest.raises(UnknownName, match="world rain is not known: choose one of approval_expires"):
        Request("handler.py", world=("rain",))
    with pytest.raises(BadHandler, match=r"gone\.py is missing"):
        sweep(Request("gone.py"), pool)
    with pytest.raises(BadHandler, match=r"right\.py has no function `pay_twice`"):
        sweep(Request(f"{ORDERS / 'right.py'}:pay_twice"), pool)
    with pytest.raises(BadHandler, match="has a world of its own"):
        sweep(Request(str(ORDERS / "right.py"), world=("revoke_mandate",)), pool)


def test_a_file_may_bring_its_own_scenario(pool: Pool, tmp_path: Path) -> None:
    """`crash_scenario` names the world and both workers; a function named on the command line wins."""

    scenario = tmp_path / "seven.py"
    scenario.write_text(
        "from pathlib import Path\n"
        "from labkit.harness.trials import Handler, Scenario\n"
        "from labkit.harness.worlds import one_charge\n"
        "from labkit.harness.workers.payment import pay, resume\n"
        f"WORKERS = Path({str(WORKERS)!r})\n"
        "crash_scenario = Scenario('seven', one_charge('order-1001:seven', 700),\n"
        "    Handler(WORKERS / 'payment.py', 'pay'), Handler(WORKERS / 'payment.py', 'resume'))\n",
        encoding="utf-8",
    )

    swept = sweep(Request(str(scenario), points=("boundary",)), pool)

    assert swept.passed
    assert swept.first == (str(WORKERS / "payment.py"), "pay")
    assert swept.resume == (str(WORKERS / "payment.py"), "resume")


# --- the pool below the sweeps --------------------------------------------------------------


def test_a_warm_process_that_is_killed_is_started_again(pool: Pool) -> None:
    """Its task is repeated by a fresh one, and every answer arrives once."""

    with prepared_job(Request(str(ORDERS / "right.py"), points=("statement",))) as job:
        points = pool.one("control", job.as_json)["points"]
        tasks = [("kill_once", job.as_json, point) for point in points] * 2
        answers = []
        for index, [answer] in pool.run(tasks):
            if not answers:
                victim = next(warm for warm in pool._warm if warm.task is not None)
                os.kill(victim.pid, signal.SIGKILL)
            answers.append((index, answer["outcome"]))

    assert sorted(answers) == [(index, "judged") for index in range(len(tasks))]


def test_tasks_that_nobody_waits_for_are_ended(pool: Pool) -> None:
    """Their answers must not be taken for those of the next run."""

    with prepared_job(Request(str(ORDERS / "right.py"), points=("statement",))) as job:
        points = pool.one("control", job.as_json)["points"]
        tasks = [("kill_once", job.as_json, point) for point in points]
        for _first in pool.run(tasks):
            break

        assert pool.one("control", job.as_json)["points"] == points


def test_a_handler_that_was_edited_is_run_as_it_is_now(pool: Pool, tmp_path: Path) -> None:
    """Warm processes keep compiled handlers, and look at the file all the same."""

    for name in ("shop.py", "right.py"):
        (tmp_path / name).write_bytes((ORDERS / name).read_bytes())
    request = Request(str(tmp_path / "right.py"), points=("statement",))
    assert sweep(request, pool).verdicts == {"exactly_one"}

    (tmp_path / "right.py").write_bytes((ORDERS / "new_key.py").read_bytes())

    assert sweep(request, pool).verdicts == {"exactly_one", "duplicate"}


def open_descriptors(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid: int) -> list[str]:
    """The children of a process's main thread."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="descriptors and children are counted in /proc")
def test_many_trials_leak_nothing(record_property: Any) -> None:
    """As many as fit into eight seconds: no descriptor, no process and no folder is left of any of them."""

    request = Request(PAYMENT, resume="resume", points=STATEMENTS)
    with Pool(1) as own, prepared_job(request) as job:
        points = own.one("control", job.as_json)["points"]
        tasks = [("kill_once", job.as_json, point) for point in points]
        list(own.run(tasks))
        warm = own._warm[0].pid

        def left() -> tuple[int, int, list[str], list[str]]:
            gc.collect()  # descriptors of other tests' garbage may be closed at any time
            return (
                open_descriptors(os.getpid()),
                open_descriptors(warm),
                children(warm),
                sorted(path.name for path in Path(job.scratch).iterdir()),
            )

        before, trials, end_s = left(), 0, time.monotonic() + 8
        while time.monotonic() < end_s:
            trials += len(list(own.run(tasks)))

        assert left() == before
        assert own._warm[0].pid == warm
    record_property("trials", trials)
    assert trials > len(tasks)


BOTH_LAUNCHERS = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from labkit.grading.stage import load_stage
from labkit.harness import registered, trials
from labkit.harness.launchers import ExecLauncher, ForkLauncher
from labkit.learning import katas

cases = {case.id: (case.scenario, case.crash) for case in registered.INTERVENTIONS}
for name in katas.names():
    cases |= {f"{name} {run}": case for run, case in load_stage(katas.find(name)).runs.items()}
for number, (name, (scenario, crash)) in enumerate(cases.items()):
    for launcher in (ExecLauncher(), ForkLauncher()):
        folder = Path(sys.argv[1]) / f"{number}-{type(launcher).__name__}"
        seen = asdict(trials.run_trial(scenario, crash, folder, launcher=launcher))
        for run in seen["runs"]:
            for varies in ("pid", "elapsed_ms", "command"):
                del run[varies]
        del seen["folder"]
        print(json.dumps([name, type(launcher).__name__, seen], sort_keys=True))
"""


def test_both_launchers_leave_the_same_observations(tmp_path: Path) -> None:
    """Every registered intervention and every run of every kata: rows, results, ends and last words."""

    ran = subprocess.run(
        [sys.executable, "-c", BOTH_LAUNCHERS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert ran.stderr == ""
    seen = [json.loads(line) for line in ran.stdout.splitlines()]
    by_exec = {name: found for name, launcher, found in seen if launcher == "ExecLauncher"}
    by_fork = {name: found for name, launcher, found in seen if launcher == "ForkLauncher"}
    assert len(by_exec) > 7
    assert by_fork == by_exec
