"""Every point is killed by a run of its own; crashes that leave the same bytes share a recovery, and lose nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.grading.sweeping import Request, prepared_job, sweep
from labkit.harness import alike, answers, sweeps
from labkit.harness.pool import Pool
from labkit.observations import Sweep

from .counting import Counting

ROOT = Path(__file__).parents[2]
WORKERS = ROOT / "labkit" / "harness" / "workers"
ORDERS = ROOT / "data" / "examples" / "orders"
HANDLERS = {
    "the reference": Request(f"{WORKERS / 'payment.py'}:pay", resume="resume"),
    "a new key": Request(f"{WORKERS / 'payment.py'}:pay", resume=f"{WORKERS / 'mutant_new_key.py'}:resume"),
    "an order paid once": Request(str(ORDERS / "right.py")),
    "an order paid twice": Request(str(ORDERS / "new_key.py")),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Counting]:
    with Counting(2) as warm:
        yield warm


def asked_for(pool: Counting, request: Request) -> tuple[Sweep, Counter[str]]:
    """A sweep, and what it asked the pool for."""
    pool.asked.clear()
    return sweep(request, pool), pool.asked


@pytest.mark.parametrize("request_", HANDLERS.values(), ids=HANDLERS)
def test_what_a_shared_recovery_says_is_what_one_of_its_own_says(pool: Counting, request_: Request) -> None:
    """Each point is repeated alone: killed and resumed, with nothing shared."""
    swept = sweep(request_, pool)
    shared = [result for result in swept.results if result.same_bytes_as]
    assert shared

    with prepared_job(request_) as job:
        alone = [sweeps.repeat(job, pool, [result.schedule[0].number]) for result in swept.results]

    assert list(swept.results) == alone


@pytest.mark.parametrize("resume", ["resume", f"{WORKERS / 'mutant_new_key.py'}:resume"])
def test_so_it_is_with_pairs_of_crashes(pool: Counting, resume: str) -> None:
    """The second kill is shared after first ones that left the same bytes, the recovery after either."""
    request = Request(f"{WORKERS / 'payment.py'}:pay", resume=resume, points=("boundary",), depth="2")
    swept, asked = asked_for(pool, request)
    asked = asked.copy()

    with prepared_job(request) as job:
        alone = [
            sweeps.repeat(job, pool, [point.number for point in result.schedule]) for result in swept.results
        ]

    assert list(swept.results) == alone
    assert {len(result.schedule) for result in swept.results} == {2}
    own = [one for one in swept.results if len(one.same_bytes_as) != 1]
    assert asked["kill"] == len(swept.points) + len(own) < len(swept.points) + len(swept.results)
    assert asked["recover"] - swept.recoveries == len({one.schedule[0] for one in own}) < len(swept.points)


def test_every_point_is_killed_and_only_different_bytes_are_recovered_from(pool: Counting) -> None:
    """A payment and a checkpoint: before, between and after, each with and without a transaction begun."""
    swept, asked = asked_for(pool, HANDLERS["the reference"])

    first_of = {result.same_bytes_as or (result.schedule[0].number,) for result in swept.results}
    assert asked == {"control": 2, "kill": len(swept.points), "recover": swept.recoveries}
    assert swept.recoveries == len(first_of) < len(swept.points)
    assert all(result.same_bytes_as < (result.schedule[0].number,) for result in swept.results)
    assert {(one.schedule[0].number,) for one in swept.results if not one.same_bytes_as} == first_of


def test_a_failing_recovery_is_repeated_once_for_all_that_share_it(pool: Counting) -> None:
    swept, asked = asked_for(pool, HANDLERS["a new key"])

    failing = [result for result in swept.results if not result.passed]
    assert asked["kill_and_recover"] == sum(not result.same_bytes_as for result in failing) > 0


SHOP = (ORDERS / "right.py").read_text(encoding="utf-8")


def handler(folder: Path, before: str = "", instead: str = SHOP) -> Request:
    """The right order handler, with some code run first."""
    (folder / "shop.py").write_bytes((ORDERS / "shop.py").read_bytes())
    head, body = instead.split("def handler(folder", 1)
    signature, rest = body.split("\n", 1)
    lines = "".join(f"    {line}\n" for line in before.splitlines())
    path = folder / "own.py"
    path.write_text(
        f"{head}import hashlib, time\n\n\ndef handler(folder{signature}\n{lines}{rest}", encoding="utf-8"
    )
    return Request(str(path), points=("statement",))


def test_a_run_that_leaves_other_bytes_each_time_has_a_recovery_for_each(
    pool: Counting, tmp_path: Path
) -> None:
    """Here a real clock's: no two of its crashes are the same."""
    request = handler(tmp_path, "(folder / 'began').write_text(str(time.monotonic_ns()))")

    swept, asked = asked_for(pool, request)

    assert asked["recover"] == asked["kill"] == len(swept.points) == swept.recoveries
    assert not any(result.same_bytes_as for result in swept.results)


def test_a_recovery_that_ends_differently_is_flaky_wherever_it_was_shared(
    pool: Counting, tmp_path: Path
) -> None:
    """It keeps notes outside of its world: what it recovers from for the first time it leaves as it is.

    Two recoveries at the same time must not take each other's note, so it names all that tells their worlds
    apart.  Of SQLite's journal that is the first byte: the others are new in each run.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    forgets = (
        "died = (folder / 'began').exists()\n"
        "(folder / 'began').touch()\n"
        "world = hashlib.sha256()\n"
        "for path in sorted(folder.iterdir()):\n"
        "    content = path.read_bytes()\n"
        "    world.update(path.name.encode() + (content[:1] if path.name.endswith('-journal') else content))\n"
        f"note = Path({str(outside)!r}) / world.hexdigest()\n"
        "if died and not note.exists():\n"
        "    note.touch()\n"
        "    return 'forgot'\n"
    )

    swept = sweep(handler(tmp_path, forgets), pool)

    flaky = [result for result in swept.results if result.outcome == "flaky"]
    assert any(result.same_bytes_as for result in flaky)
    assert not swept.passed
    for result in flaky:
        assert "at first, then" in result.explanation


@pytest.mark.parametrize("depth", ["1", "2"])
def test_what_there_is_no_room_for_is_killed_for_again(
    pool: Counting, monkeypatch: pytest.MonkeyPatch, depth: str
) -> None:
    """A run may leave much in its folder, and other bytes at each of its points."""
    request = replace(HANDLERS["a new key"], depth=depth, points=("boundary",))
    with_room = sweep(request, pool)
    monkeypatch.setattr(alike, "MOST_KEPT_BYTES", 0)

    without_room = sweep(request, pool)

    assert without_room == with_room
    assert "duplicate" in with_room.verdicts


def test_a_recovery_finds_links_and_pipes_where_the_killed_run_has_left_them(
    pool: Counting, tmp_path: Path
) -> None:
    odd = (
        "lock = folder / 'lock'\n"
        "if not lock.is_symlink():\n"
        "    lock.symlink_to(folder / 'owner')\n"
        "    __import__('os').mkfifo(folder / 'wake')\n"
        "assert lock.readlink() == folder / 'owner'\n"
        "lock.write_text('one')\n"
        "assert (folder / 'owner').read_text() == 'one' and (folder / 'wake').is_fifo()\n"
        "if not (folder / 'also').exists():\n"
        "    (folder / 'also').hardlink_to(folder / 'owner')\n"
        "assert (folder / 'also').samefile(folder / 'owner')\n"
    )

    swept = sweep(handler(tmp_path, odd), pool)

    assert {result.outcome for result in swept.results} == {"judged"}
    assert swept.problems == ()
    assert swept.passed


def test_what_a_killed_run_has_started_dies_with_it(pool: Counting, tmp_path: Path) -> None:
    """In a recovery of its own as in a shared one: else it would write in what is kept for the recovery."""
    starts = (
        "import os, subprocess\n"
        "began = folder / 'began'\n"
        "if not began.exists():\n"
        "    began.write_text(str(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid))\n"
        "elif (Path := __import__('pathlib').Path)('/proc', began.read_text()).exists():\n"
        "    raise SystemExit('it lives')\n"
    )
    request = handler(tmp_path, starts)

    swept = sweep(request, pool)

    assert swept.verdicts == {"exactly_one"}
    with prepared_job(request) as job:
        assert sweeps.repeat(job, pool, [1]).passed


def test_other_faults_have_a_recovery_for_every_point(pool: Counting) -> None:
    """Whoever was only stopped goes on: what it finds is not all that matters."""
    request = replace(HANDLERS["the reference"], fault="pause", points=("boundary",))

    swept, asked = asked_for(pool, request)

    assert asked == {"control": 2, "kill_once": len(swept.points)}
    assert swept.recoveries == len(swept.points)


class Arriving(Pool):
    """A pool of which the answers arrive as they are told to."""

    def __init__(self, outcomes: list[str], window: int) -> None:
        super().__init__(window)
        self.outcomes = outcomes

    def run(self, tasks: Sequence[tuple[Any, ...]]) -> Generator[tuple[int, Any], None, None]:
        for begin in range(0, len(tasks), self.jobs):
            for index in reversed(range(begin, min(begin + self.jobs, len(tasks)))):
                yield index, [{"outcome": self.outcomes[index]}]


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
def test_what_is_attempted_does_not_hang_on_how_many_are_at_work(jobs: int) -> None:
    """Of many that hang it is the sixth in order after which nothing counts, not the sixth that ended."""
    outcomes = [
        "judged",
        "timed_out",
        "timed_out",
        "judged",
        *["timed_out"] * 3,
        *["judged", "timed_out"] * 8,
    ]
    tasks: dict[answers.Schedule, answers.Task] = {(number,): ("kill",) for number in range(len(outcomes))}

    found = list(answers.patiently(Arriving(outcomes, jobs), tasks))

    assert found == [((number,), [{"outcome": outcomes[number]}]) for number in range(9)]


def test_recoveries_that_hang_are_given_up_on(
    pool: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few of them; the points behind the rest are not attempted, and each says so."""
    monkeypatch.setattr(answers, "MOST_TIMEOUTS", 2)
    hangs = (
        "(folder / 'began').write_text(str(time.monotonic_ns()) if not (folder / 'began').exists() else 'again')\n"
        "while (folder / 'began').read_text() == 'again':\n"
        "    pass\n"
    )
    request = replace(handler(tmp_path, hangs), deadline_s=2.0)

    swept, asked = asked_for(pool, request)

    outcomes = Counter(result.outcome for result in swept.results)
    assert asked["recover"] == len(swept.points) > answers.MOST_TIMEOUTS
    assert set(outcomes) == {"timed_out", "not_attempted"}
    assert outcomes["timed_out"] >= answers.MOST_TIMEOUTS
    assert {result.explanation for result in swept.results if result.outcome == "not_attempted"} == {
        "2 points before it passed their deadline or a limit"
    }
