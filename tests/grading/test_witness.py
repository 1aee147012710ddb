"""An answer that runs in the process that is killed cannot choose where it dies, nor leave a note while it dies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from labkit.grading import confinement, engine
from labkit.grading.cage import Cage
from labkit.grading.confinement import Confinement
from labkit.grading.sandbox import SandboxedPool
from labkit.grading.stage import Stage, load_stage
from labkit.harness import witness, worlds
from labkit.harness.child import ChildSpec
from labkit.learning import katas
from labkit.observations import Sweep

ROOT = Path(__file__).parents[2]
KATA = ROOT / "katas" / "k17_tell_the_customer"
pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(300)]

# Both wrap the mutant that takes the payment's checkpoint for the notice's.  The wrapper's own lines are
# no crash points: they are compiled under another name.
DIES_ELSEWHERE = """
import os, signal

def wrapped(world, body=pay_and_tell):
    points = next(cell.cell_contents for cell in world.reached.__closure__ if hasattr(cell.cell_contents, "at"))
    if str(points.at) in LABELS:
        points.report(LABELS[str(points.at)])
        os.kill(os.getpid(), signal.SIGKILL)
    return body(world)
"""
HEARS_LATE = """
def wrapped(world, body=pay_and_tell):
    world.free = lambda: 5000
    return body(world)
"""
LAST_BREATH = """
import os

def wrapped(world, body=pay_and_tell, kill=os.kill):
    def last_breath(pid, number):
        try:
            open(NOTE, "r+b" if os.path.exists(NOTE) else "wb").write(b"\\0cut")
        finally:
            kill(pid, number)
    os.kill = last_breath
    if world.run_number == 1 and os.path.exists(NOTE):
        os.unlink(NOTE)
    if not os.path.exists(NOTE) or b"cut" not in open(NOTE, "rb").read():
        return body(world)
    receipt = pay(world)
    told = world.messages.submit(f"{world.workflow_id}:notify", notice_of(receipt))
    notice = new_operation(f"{world.workflow_id}:notify", world.workflow_id, "notify", notice_of(receipt),
                           ledger="messages", state="EFFECT_PENDING")
    known = world.journal.step(world.workflow_id, "notify")
    with atomic(world.journal.db):
        if known is None:
            world.journal.intend(notice, world.now_ms)
        if known is None or not known.checkpointed:
            world.journal.checkpoint(notice.operation_id, told.receipt, world.now_ms)
    return "told"
"""


@pytest.fixture(scope="module")
def stage() -> Stage:
    return load_stage(katas.load(KATA))


@pytest.fixture(scope="module")
def pool(system_program: Callable[..., str]) -> Iterator[SandboxedPool]:
    system_program("bwrap")
    with SandboxedPool(confinement.choose("bwrap"), 2) as sandboxed:
        yield sandboxed


def mutant() -> str:
    return (KATA / "mutants" / "one_flag.py").read_text(encoding="utf-8")


def swept(pool: SandboxedPool, stage: Stage, folder: Path, wrapper: str) -> Sweep:
    """The mutant in a wrapper, as the function that is run, swept."""
    names = f"exec(compile({wrapper!r}, 'wrapper', 'exec'))\npay_and_tell = wrapped\n"
    answer = folder / "answer.py"
    answer.write_text(
        (KATA / "mutants" / "one_flag.py").read_text(encoding="utf-8") + names, encoding="utf-8"
    )
    return engine.grade(stage, answer, pool=pool)


def outcomes(found: Sweep) -> set[str]:
    return {result.outcome for result in found.results}


def test_a_run_that_announces_a_point_and_dies_elsewhere_is_found_out(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    """It dies at once, before anything was done, under the label that it knows the point by."""
    honest = swept(pool, stage, tmp_path, DIES_ELSEWHERE.replace("LABELS", "{}"))
    assert outcomes(honest) == {"judged"}
    assert not honest.passed
    labels = {
        str(point.number): {
            "point": point.number,
            "kind": point.kind,
            "label": point.label,
            "line": point.line,
        }
        for point in honest.points
    }

    found = swept(pool, stage, tmp_path, DIES_ELSEWHERE.replace("LABELS", json.dumps(labels)))

    assert not found.passed
    why = {result.explanation for result in found.results if result.outcome == "tampered"}
    number = next(point.number for point in honest.points if point.label.split()[1] == "INSERT")
    assert f"its providers were not where point {number} stands" in why


def test_a_run_that_dies_after_its_provider_has_gone_on_is_found_out(
    pool: SandboxedPool, stage: Stage, tmp_path: Path
) -> None:
    """It tells the provider not to wait for it anywhere, and dies when it hears what has been done meanwhile."""
    found = swept(pool, stage, tmp_path, HEARS_LATE)

    theirs = [result for result in found.results if result.outcome == "tampered"]
    insert = next(point.number for point in found.points if point.label.split()[1] == "INSERT")
    assert not found.passed
    assert f"its providers were not where point {insert} stands" in {result.explanation for result in theirs}


@pytest.mark.parametrize("note", ["note", "journal.sqlite3-journal", "/tmp/note"])
def test_a_note_written_with_the_last_breath_is_found_out_or_lost(
    pool: SandboxedPool, stage: Stage, tmp_path: Path, note: str
) -> None:
    found = swept(pool, stage, tmp_path, LAST_BREATH.replace("NOTE", repr(note)))

    assert not found.passed
    assert "tampered" in outcomes(found) or "lost" in found.verdicts


# The payment, then the checkpoint: (kind, name, whether the provider passed it), and the looks in between.
CLAIMS = [
    ("boundary", "before", False), ("statement", "BEGIN", True), ("statement", "COMMIT", True),
    ("statement", "BEGIN", False), ("statement", "INSERT", False), ("statement", "COMMIT", False), ("boundary", "returned", False),
]  # fmt: skip
CONTROL = {
    "begin": "empty",
    "seen": [["BEGIN", "empty"], ["COMMIT", "empty"]],
    "let_through": 2,
    "end": "full",
}
KEPT = witness.expected(CLAIMS, CONTROL)


def killed(statements: int, let_through: int, end: str) -> dict[str, object]:
    return {**CONTROL, "seen": CONTROL["seen"][:statements], "let_through": let_through, "end": end}


TRUTH = {1: (0, 0, "empty"), 2: (1, 0, "empty"), 3: (2, 1, "empty"), 4: (2, 2, "empty"), 5: (2, 2, "empty"),
         6: (2, 2, "empty"), 7: (2, 2, "full")}  # fmt: skip


@pytest.mark.parametrize("at", TRUTH)
@pytest.mark.parametrize("seen", sorted(set(TRUTH.values())))
def test_only_the_world_of_a_point_fits_the_point(at: int, seen: tuple[int, int, str]) -> None:
    assert witness.problem_of(KEPT) == ""
    assert (witness.contradiction(KEPT, killed(*seen), at) == "") == (TRUTH[at] == seen)


def test_a_fault_free_run_that_hides_what_it_does_is_a_problem() -> None:
    silent = [claim for claim in CLAIMS if claim[:2] != ("statement", "COMMIT") or claim[2]]

    assert "no commit" in witness.problem_of(witness.expected(silent, CONTROL))
    assert "other statements" in witness.problem_of(witness.expected(CLAIMS[3:], CONTROL))
    assert witness.problem_of(witness.expected(CLAIMS, None)) == ""


class TellsLate(Cage):
    """A machine so busy that a run has written before whoever ordered it goes on."""

    def _order(self, spec: ChildSpec, code: bytes, fds: tuple[int, ...]) -> None:
        super()._order(spec, code, fds)
        until_s = time.monotonic() + 60
        while not (Path(spec.folder) / "written").exists() and time.monotonic() < until_s:
            time.sleep(0.01)


def test_how_the_files_stood_before_is_known_before_the_run_begins(
    pool: SandboxedPool, tmp_path: Path
) -> None:
    handler = tmp_path / "handler.py"
    handler.write_text("def run(world):\n    open('written', 'w').close()\n", encoding="utf-8")
    world = worlds.prepare(tmp_path / "world", worlds.one_charge())
    cage = TellsLate(Confinement(**pool.sandbox(ledger_inside=False)))
    try:
        with cage.start(ChildSpec(str(world), str(handler), "run")) as child:
            run = child.finish("first")
    finally:
        cage.remove()

    [seen] = [message["witness"] for message in child.messages if "witness" in message]
    assert run.returncode == 0
    assert seen["begin"] != seen["end"]
