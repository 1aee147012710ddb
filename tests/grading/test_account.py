"""What all runs of one answer may use together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from labkit.grading import account
from labkit.grading.account import Account, Allowance
from labkit.grading.judging import Judge, Task
from labkit.grading.sandbox import SandboxedPool
from labkit.learning import katas

KATA = katas.load(Path(__file__).parents[2] / "katas" / "k03_missing_ack")
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def pool(system_program: Callable[..., str]) -> Iterator[SandboxedPool]:
    system_program("bwrap")
    with SandboxedPool("bwrap", 2) as sandboxed:
        yield sandboxed


# Each stays below the limits of one run, whatever it does in all of them.
USES = {
    "wall clock": ("import time\ntime.sleep(0.1)", Allowance(wall_s=0.5), "0.5 s for one answer"),
    "processor": (
        "import time\nwhile time.process_time() < 0.2: pass",
        Allowance(cpu_s=0.6),
        "0.6 s of processor time for one answer",
    ),
    "output": (
        "print('x' * 100_000)",
        Allowance(output_bytes=300_000),
        "300000 bytes of output for one answer",
    ),
}


@pytest.mark.parametrize(("body", "allowance", "limit"), USES.values(), ids=USES)
def test_what_an_answer_uses_in_all_its_runs_has_limits_that_are_named(
    pool: SandboxedPool, body: str, allowance: Allowance, limit: str
) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())

    ran = Judge(pool, [KATA], allowance).judge(Task(KATA.slug, f"def resume(world):\n{lines}"))

    assert (ran.outcome, ran.why) == ("killed_by_limit", limit)


def test_an_account_begins_anew_with_each_answer_and_survives_half_a_line(tmp_path: Path) -> None:
    book = Account(tmp_path / "account")
    account.add(str(book.path), 2.0, 10)
    account.add(str(book.path), 2.0, 10)
    with book.path.open("a") as file:
        file.write("9")

    assert book.passed(Allowance(cpu_s=3)) == "3 s of processor time for one answer"
    assert book.passed(Allowance(output_bytes=19)) == "19 bytes of output for one answer"
    assert book.passed(Allowance()) == ""
    book.begin()
    assert book.passed(Allowance(cpu_s=3, output_bytes=19)) == ""
