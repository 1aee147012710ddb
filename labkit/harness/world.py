"""The world as a worker sees it: its stores and providers, opened in this process, on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from labkit.boundaries import Reached, nowhere
from labkit.errors import UnknownName
from labkit.harness import worlds
from labkit.harness.faults import LossyProvider
from labkit.harness.rivals import Rival
from labkit.providers.file import FileProvider
from labkit.providers.interface import Provider
from labkit.providers.socket import Free, SocketProvider, Statement, hold_each, unnoticed
from labkit.stores.authority import Authority
from labkit.stores.journal import Journal
from labkit.stores.ledger import Ledger
from labkit.values import Operation


class World:
    """What a handler is given.  Connections open on first use, in the process that uses them.

    `now_ms` is this run's clock, `run_number` counts from 1, `owner` names this incarnation.
    """

    def __init__(
        self,
        folder: Path,
        workflow_id: str,
        run_number: int = 1,
        owner: str = "worker",
        reached: Reached = nowhere,
    ) -> None:
        self.folder = folder
        self.workflow_id = workflow_id
        self.run_number = run_number
        self.now_ms = run_number * 1000
        self.owner = owner
        self.reached = reached
        self._spec = worlds.describe(folder)
        self._inside: dict[str, FileProvider] = {}
        self.statement: Statement = unnoticed  # hears of statements in ledgers that are served elsewhere
        self.free: Free = hold_each  # how many of these need not wait for this process
        self._served: dict[str, SocketProvider] = {}
        self.is_lost: Callable[[str], bool] | None = None  # the harness's `lost_reply` fault
        self.rival: Rival | None = None  # the harness's second worker

    @cached_property
    def journal(self) -> Journal:
        """The workflow's own record."""
        return Journal.open(self.folder / self._spec["journal_file"])

    @cached_property
    def authority(self) -> Authority:
        """The approver's record."""
        return Authority.open(self.folder / worlds.AUTHORITY_FILE)

    @property
    def payments(self) -> Provider:
        """The payment provider."""
        return self.provider("payments")

    @property
    def messages(self) -> Provider:
        """The messaging provider, in worlds that have one."""
        return self.provider("messages")

    def provider(self, name: str) -> Provider:
        """The provider that owns the ledger of this name.  Raises: UnknownName."""
        provider: Provider = self.served(name) if "served_at" in self._spec else self.inside(name)
        return LossyProvider(provider, self.is_lost) if self.is_lost else provider

    def inside(self, name: str = "payments") -> FileProvider:
        """The provider as its own programmer sees it: its connection, and an insert without a commit.

        Raises:
            UnknownName: there is no such provider.
        """
        if name not in self._inside:
            files = {ledger["name"]: ledger["file"] for ledger in self._spec["ledgers"]}
            if name not in files:
                raise UnknownName(
                    f"provider {name} is not in this world", f"choose one of {', '.join(files)}"
                )
            ledger = Ledger.open(self.folder / files[name])
            if self.rival is not None:
                self.rival.watch(ledger.db)
            self._inside[name] = FileProvider(ledger, self.now_ms, self.reached)
        return self._inside[name]

    def served(self, name: str) -> SocketProvider:
        """The provider whose ledger another process holds, in the folder that `world.json` names."""
        if name not in self._served:
            address = Path(self._spec["served_at"]) / str(self.run_number)
            free = self.free if self.rival is None else hold_each
            self._served[name] = SocketProvider(address, name, self.reached, self._about_to, free)
        return self._served[name]

    def _about_to(self, verb: str) -> None:
        if verb == "BEGIN" and self.rival is not None:
            self.rival.act()
        self.statement(verb)

    @property
    def rival_workflow(self) -> str | None:
        """The workflow of the second worker that competes with this one, None without."""
        return None if self._spec["rival"] == self.workflow_id else self._spec["rival"]

    def operation(self, step: str = "charge") -> Operation:
        """The journal's record of one step of this workflow.

        Raises:
            UnknownName: no intent was recorded for it.
        """
        found = self.journal.step(self.workflow_id, step)
        if found is None:
            raise UnknownName(
                f"step {step} of {self.workflow_id} has no recorded intent", "record the intent first"
            )
        return found
