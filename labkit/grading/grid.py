"""A Dask cluster as the place where answers are judged.

The grader stays the only writer of its gradebook.  A worker that dies has its task run again by
another: a task's result is taken once.  Whoever is interrupted leaves no task running.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from labkit.errors import BadOption, Conflict, HarnessError
from labkit.grading import grid_worker, grounds, judge_process
from labkit.grading.judging import Ran, Task
from labkit.harness.folders import unused_name
from labkit.learning.katas import Kata

Client = Any  # Dask's own, which have no types
Future = Any
CONNECT_S = 10.0
NO_WORKER_S = 30.0  # for a worker to come, or to come back
LOOK_EVERY_S = 1.0
AHEAD = 2  # tasks sent for each of the cluster's threads


@contextmanager
def connected(address: str, sandbox: str, katas: Sequence[Kata]) -> Iterator[Grid]:
    """The cluster at an address, each of its workers looked at.

    Raises:
        BadOption: Dask is not installed, or that is no address.
        Conflict: a worker stands on other ground than this machine.
        HarnessError: the cluster cannot be reached, or has no worker.
    """
    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError:
        raise BadOption(
            "--scheduler needs Dask, which is not installed", "pip install labkit[grid]"
        ) from None
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # what Dask has to say of a lost connection is said here in one line
    try:
        client = distributed.Client(address, timeout=CONNECT_S, name="labkit")
    except (OSError, TimeoutError) as error:
        why = " ".join(str(error).split())[:120]
        raise HarnessError(
            f"no Dask scheduler answers at {address} ({why})", "start one, or grade with --jobs"
        ) from None
    except (ValueError, TypeError) as error:
        raise BadOption(
            f"--scheduler {address} is no address ({error})", "give HOST:PORT or tcp://HOST:PORT"
        ) from None
    scratch = unused_name("lab-grade-")
    try:
        yield Grid(client, address, sandbox, katas, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(Exception):  # a cluster that is gone cannot be told goodbye
            client.close(timeout=LOOK_EVERY_S)
        logging.disable(before)


class Grid:
    """A cluster whose workers all stand on this machine's ground.

    `scratch` is for the grader's own throw-away files on this machine.
    """

    def __init__(
        self, client: Client, address: str, sandbox: str, katas: Sequence[Kata], scratch: Path
    ) -> None:
        self.distributed: Any = import_module("distributed")
        self.client = client
        self.address = address
        self.sandbox = sandbox
        self.scratch = scratch
        self.katas = {kata.slug: kata for kata in katas}
        self._seen_s = time.monotonic()
        self.named_level = self._level_of_all()

    def judge(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ran]]:
        """What becomes of each task, in the order in which they end.

        Raises:
            Conflict: a worker that came later stands on other ground.
            HarnessError: the cluster is gone.
        """
        run = secrets.token_hex(8)
        waiting = list(range(len(tasks)))[::-1]
        running: dict[Future, int] = {}
        try:
            while waiting or running:
                room = self._room()
                while waiting and len(running) < room:
                    number = waiting.pop()
                    running[self._sent(tasks[number], f"labkit-{run}-{number}")] = number
                for future in self._ended(running):
                    ran = self._result_of(future)
                    if ran is not None:
                        yield running.pop(future), ran
        finally:
            if running:
                with suppress(Exception):  # whatever ended us is what the caller hears of
                    self.client.cancel(list(running), force=True)

    def _level_of_all(self) -> str:
        """The sandbox that every worker would use.  Raises: Conflict, HarnessError."""
        here = grounds.ground(list(self.katas.values()))
        self._room()
        found = self.client.run(grid_worker.describe, self.sandbox, list(self.katas), on_error="return")
        levels: dict[str, str] = {}
        for worker, answer in sorted(found.items()):
            told: dict[str, Any] = (
                json.loads(answer) if isinstance(answer, str) else {"problem": _in_words(answer)}
            )
            why = told.get("problem") or grounds.difference(here, told["ground"])
            if why:
                raise _refused(worker, why)
            levels.setdefault(told["level"], worker)
        if len(levels) != 1:
            said = " and ".join(f"{worker} has {level}" for level, worker in levels.items())
            raise Conflict(
                f"the workers' sandboxes differ: {said}", "give --sandbox, and run all as one kind of user"
            )
        return next(iter(levels))

    def _room(self) -> int:
        """How many tasks may be with the cluster at a time.  Raises: HarnessError: it has had no worker for long."""
        while True:
            with self._reached():
                threads = int(sum(self.client.nthreads().values()))
            if threads:
                self._seen_s = time.monotonic()
                return AHEAD * threads
            if time.monotonic() - self._seen_s > NO_WORKER_S:
                raise HarnessError(
                    f"the Dask scheduler at {self.address} has had no worker for {NO_WORKER_S:g} s",
                    f"start one: dask worker {self.address}",
                )
            time.sleep(LOOK_EVERY_S)

    def _sent(self, task: Task, key: str) -> Future:
        asked = judge_process.request(task, self.katas[task.kata], self.sandbox, self.named_level)
        return self.client.submit(grid_worker.judge, json.dumps(asked).encode(), key=key, pure=False)

    def _ended(self, running: dict[Future, int]) -> list[Future]:
        """Those of the tasks that have ended by now, once there is one or a while has passed."""
        with suppress(TimeoutError), self._reached():
            self.distributed.wait(list(running), timeout=LOOK_EVERY_S, return_when="FIRST_COMPLETED")
        return [future for future in running if future.status != "pending"]

    def _result_of(self, future: Future) -> Ran | None:
        """What a worker has made of a task; None where that died with the worker, and is made again.

        Raises:
            Conflict: the worker stands on other ground.
            HarnessError: the cluster is gone.
        """
        text = b""
        with suppress(TimeoutError), self._reached():
            if future.status == "error":
                error = future.exception()
                died = isinstance(error, self.distributed.KilledWorker)
                return Ran("infra_error", "every worker that judged it died" if died else _in_words(error))
            text = future.result(timeout=CONNECT_S)
        if not text:
            return None
        try:
            ran = Ran.from_json(text)
        except HarnessError as error:
            return Ran("infra_error", error.message)
        if ran.outcome == "refused":
            raise _refused("that came later", ran.why)
        return ran

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """What the client does meanwhile needs the scheduler.  Raises: HarnessError: it is gone."""
        gone = HarnessError(
            f"the Dask scheduler at {self.address} is gone",
            "run it again: what was graded is not graded twice",
        )
        if self.client.status != "running":
            raise gone
        try:
            yield
        except TimeoutError:
            if self.client.status != "running":
                raise gone from None
            raise
        except (self.distributed.CancelledError, OSError):  # a closed connection is an OSError
            raise gone from None


def _refused(worker: str, why: str) -> Conflict:
    return Conflict(
        f"the worker {worker} is refused: {why}", "install the same labkit, Python and katas on every worker"
    )


def _in_words(error: object) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
