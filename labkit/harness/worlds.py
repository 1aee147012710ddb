"""Worlds: the stores that one trial starts from, what may happen to them between runs, their rows.

A world is a folder with one journal, one ledger for each provider, perhaps an authority, and
`world.json`, which says what is in it.  Clocks are small integers: run n happens at `n * 1000` ms.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labkit.errors import BadStore, OutputInUse, StoreUnwritable, UnknownName
from labkit.observations import Snapshot
from labkit.stores import sqlite
from labkit.stores.authority import SCHEMA as AUTHORITY_SCHEMA
from labkit.stores.authority import Authority
from labkit.stores.journal import SCHEMA as JOURNAL_SCHEMA
from labkit.stores.journal import Journal, new_operation
from labkit.stores.ledger import SCHEMA as LEDGER_SCHEMA
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic
from labkit.values import Action, Approval, BudgetPolicy, Mandate

DESCRIPTION = "world.json"
AUTHORITY_FILE = "authority.sqlite3"
SCHEMAS = {"journal": JOURNAL_SCHEMA, "ledger": LEDGER_SCHEMA, "authority": AUTHORITY_SCHEMA}


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One effect that a workflow is to have.  `state` is what the prepared journal says of it.

    With `state=None` no intent is recorded: the worker has to do that itself.
    """

    action: Action
    operation_id: str
    workflow_id: str = "order-1001"
    name: str = "charge"
    ledger: str = "payments"
    state: str | None = "EFFECT_PENDING"
    approval_id: str | None = None
    idempotent: bool = True
    max_retries: int = 3


@dataclass(frozen=True, slots=True)
class LedgerSpec:
    """One provider's ledger: its file, what it permits, and its caps."""

    name: str = "payments"
    file: str = "ledger.sqlite3"
    mandates: tuple[Mandate, ...] = ()
    mandate_required: bool = True
    budget: BudgetPolicy | None = None


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """Everything that a prepared world holds."""

    steps: tuple[StepSpec, ...]
    ledgers: tuple[LedgerSpec, ...] = (LedgerSpec(),)
    approvals: tuple[Approval, ...] | None = None
    journal_file: str = "journal.sqlite3"
    code_path: str = "charge/1"

    @property
    def intents(self) -> tuple[tuple[str, str, str], ...]:
        """What should happen exactly once: (ledger, kind, subject) of each step."""
        found = {(step.ledger, step.action.kind, step.action.subject): None for step in self.steps}
        return tuple(found)

    @property
    def as_json(self) -> dict[str, Any]:
        """The content of `world.json`."""
        return asdict(self)


def one_charge(
    operation_id: str = "order-1001:charge",
    amount_minor: int = 4000,
    budget: BudgetPolicy | None = None,
    **step: Any,
) -> WorldSpec:
    """The world of most lessons: one charge of 4,000 minor units for order-1001, permitted exactly."""
    action = Action("charge", "order-1001", amount_minor, "USD")
    mandate = Mandate(action.subject, action.amount_minor, action.currency)
    return WorldSpec(
        steps=(StepSpec(action, operation_id, **step),),
        ledgers=(LedgerSpec(mandates=(mandate,), budget=budget),),
    )


def prepare(folder: Path, spec: WorldSpec) -> Path:
    """Make the world's stores in a new or empty folder, at time 0.

    Raises:
        OutputInUse: the folder holds something.
    """
    require_empty(folder)
    with atomic((journal := Journal.create(folder / spec.journal_file)).db):
        for workflow_id in dict.fromkeys(step.workflow_id for step in spec.steps):
            journal.begin(workflow_id, spec.code_path, 0)
        for step in spec.steps:
            if step.state is not None:
                journal.intend(_operation(step), 0)
    journal.db.close()
    for ledger_spec in spec.ledgers:
        ledger = Ledger.create(
            folder / ledger_spec.file, ledger_spec.name, ledger_spec.mandate_required, ledger_spec.budget
        )
        with atomic(ledger.db):
            for mandate in ledger_spec.mandates:
                ledger.grant_mandate(mandate, 0)
        ledger.db.close()
    if spec.approvals is not None:
        with atomic((authority := Authority.create(folder / AUTHORITY_FILE)).db):
            for approval in spec.approvals:
                authority.approve(approval)
        authority.db.close()
    (folder / DESCRIPTION).write_text(json.dumps(spec.as_json, indent=1), encoding="utf-8")
    return folder


def _operation(step: StepSpec) -> Any:
    return new_operation(
        step.operation_id, step.workflow_id, step.name, step.action, ledger=step.ledger, state=step.state,
        approval_id=step.approval_id, idempotent=step.idempotent, max_retries=step.max_retries,
    )  # fmt: skip


def require_empty(folder: Path) -> None:
    """Make a folder, or accept an empty one.  Raises: OutputInUse, StoreUnwritable."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputInUse(f"{folder} is not empty", "choose a new folder; evidence is never overwritten")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnwritable(
            f"{folder} cannot be made ({error.strerror})", "choose a folder you may write"
        ) from None


def describe(folder: Path) -> dict[str, Any]:
    """The content of a world's `world.json`.  Raises: BadStore."""
    try:
        return dict(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise BadStore(
            f"{folder / DESCRIPTION} cannot be read ({error})", "name a folder that labkit made"
        ) from None


def scratch_folder(prefix: str = "lab-") -> Path:
    """A new folder on tmpfs where there is one: SIGKILL keeps the page cache, so nothing is lost by it."""
    shared_memory = Path("/dev/shm")  # noqa: S108  mkdtemp makes a private folder in it
    return Path(tempfile.mkdtemp(prefix=prefix, dir=shared_memory if shared_memory.is_dir() else None))


# --- what may happen between two runs -------------------------------------------------------


def revoke_mandate(folder: Path, now_ms: int) -> None:
    """The provider's permission is withdrawn for every subject."""
    for ledger_spec in describe(folder)["ledgers"]:
        ledger = Ledger.open(folder / ledger_spec["file"])
        with atomic(ledger.db):
            for mandate in ledger_spec["mandates"]:
                ledger.revoke_mandate(mandate["subject"], now_ms)
        ledger.db.close()


def raise_policy_version(folder: Path, now_ms: int) -> None:
    """The approver tightens its policy: approvals of the older version are stale."""
    authority = Authority.open(folder / AUTHORITY_FILE)
    with atomic(authority.db):
        authority.raise_policy_version(now_ms)
    authority.db.close()


def lose_journal(folder: Path, now_ms: int) -> None:
    """The journal is replaced by one that knows only the intent."""
    spec = describe(folder)
    path = folder / spec["journal_file"]
    for name in (path.name, path.name + "-journal", path.name + "-wal", path.name + "-shm"):
        path.with_name(name).unlink(missing_ok=True)
    with atomic((journal := Journal.create(path)).db):
        for workflow_id in dict.fromkeys(step["workflow_id"] for step in spec["steps"]):
            journal.begin(workflow_id, spec["code_path"], now_ms)
        for step in spec["steps"]:
            journal.intend(
                _operation(StepSpec(**{**step, "action": Action.from_json(_details(step))})), now_ms
            )
    journal.db.close()


def _details(step: dict[str, Any]) -> dict[str, Any]:
    return {**step["action"], "details": dict(step["action"]["details"])}


Intervention = Callable[[Path, int], None]
INTERVENTIONS: dict[str, Intervention] = {
    "revoke_mandate": revoke_mandate,
    "raise_policy_version": raise_policy_version,
    "lose_journal": lose_journal,
}


def intervene(folder: Path, name: str, now_ms: int) -> None:
    """Carry out one named intervention.  Raises: UnknownName."""
    if name not in INTERVENTIONS:
        raise UnknownName(f"intervention {name} is not known", f"choose one of {', '.join(INTERVENTIONS)}")
    INTERVENTIONS[name](folder, now_ms)


# --- rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One store of a world: the name it has in a snapshot, and its file."""

    name: str
    path: Path
    schema: sqlite.Schema = field(repr=False)


def store_files(folder: Path) -> list[StoreFile]:
    """The world's stores: `journal`, each ledger under its own name, `authority` where there is one."""
    spec = describe(folder)
    found = [StoreFile("journal", folder / spec["journal_file"], JOURNAL_SCHEMA)]
    found += [StoreFile(ledger["name"], folder / ledger["file"], LEDGER_SCHEMA) for ledger in spec["ledgers"]]
    if spec["approvals"] is not None:
        found.append(StoreFile("authority", folder / AUTHORITY_FILE, AUTHORITY_SCHEMA))
    return found


def snapshot(folder: Path) -> Snapshot:
    """Every row of every store, read from copies, so that looking changes nothing.

    A killed writer leaves a hot journal beside the file, and SQLite must roll it back before it
    reads: so file and journal are copied together, and the copy is opened for writing.
    """
    rows: Snapshot = {}
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".snapshot-") as copy:
        for store in store_files(folder):
            for name in (store.path.name, store.path.name + "-journal", store.path.name + "-wal"):
                if (source := store.path.with_name(name)).exists():
                    shutil.copyfile(source, Path(copy) / name)
            rows[store.name] = read_tables(Path(copy) / store.path.name, store.schema)
    return rows


def read_tables(path: Path, schema: sqlite.Schema) -> dict[str, list[dict[str, Any]]]:
    """All tables of one store, rows in rowid order, plus SQLite's own integrity check."""
    db = sqlite.open_store(path, schema)
    try:
        with sqlite.translated(path):
            names = [row["name"] for row in sqlite.rows(
                db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )]  # fmt: skip
            tables = {name: sqlite.rows(db, f"SELECT * FROM {name} ORDER BY rowid") for name in names}
            tables["integrity"] = sqlite.rows(db, "SELECT integrity_check FROM pragma_integrity_check")
            return tables
    finally:
        db.close()
