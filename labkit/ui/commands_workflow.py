"""`lab workflow ...`: one durable payment, step by step, by the hands of the person at the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.boundaries import Boundary
from labkit.errors import BadOption
from labkit.harness.failing import Failure
from labkit.protocol.dispositions import Answer
from labkit.ui.output import JsonOption, complain, print_json, print_line

if TYPE_CHECKING:
    from labkit.harness.workflow_folder import Session

workflow_app = typer.Typer(name="workflow", help="Drive one durable payment, step by step.")

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="The workflow's key, as given to create.")]
ActionArgument = Annotated[Path, typer.Argument(metavar="ACTION.json", help="The exact action, a JSON file.")]
FolderOption = Annotated[Path, typer.Option("--dir", help="The folder with journal, ledger and authority.")]
ActorOption = Annotated[str, typer.Option(help="Who decides: a label for the audit, not a login.")]
LockOption = Annotated[float, typer.Option(help="How long to wait for another command here, in seconds.")]

FOLDER = Path("workflow")
LOCK_TIMEOUT_S = 5.0
DAY_S = 86_400


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
    app.add_typer(workflow_app)


@workflow_app.callback(invoke_without_command=True)
def workflow(context: typer.Context) -> None:
    """Drive one durable payment, step by step."""
    if context.invoked_subcommand is None:
        print_line(context.get_help())


@workflow_app.command()
def create(
    action: ActionArgument,
    key: Annotated[str, typer.Option(help="The operation id, kept across every retry: order-42.")],
    directory: FolderOption = FOLDER,
    max_retries: Annotated[int, typer.Option(help="Tries that may fail, the first one included.")] = 3,
    non_idempotent: Annotated[
        bool, typer.Option("--non-idempotent", help="A provider that takes no key and answers no readback.")
    ] = False,
    lock_timeout: LockOption = LOCK_TIMEOUT_S,
    json: JsonOption = False,
) -> None:
    """Record an action's exact bytes under a key.  Nobody is asked for anything yet."""
    from labkit.harness import action_files, workflow_folder
    from labkit.protocol import flow
    from labkit.stores.journal import new_operation

    exact = action_files.read_action(action)
    _require_label("--key", key)
    if not 1 <= max_retries <= 100:
        raise BadOption(f"--max-retries is {max_retries}", "give a number from 1 to 100")
    operation = new_operation(
        key, key, exact.kind, exact, max_retries=max_retries, idempotent=not non_idempotent
    )
    workflow_folder.create_folder(directory)
    with workflow_folder.driven(directory, lock_timeout) as session:
        flow.create(session.parties.journal, operation, session.parties.now_ms)
        show_one(session, key, json)


@workflow_app.command()
def approve(
    key: KeyArgument,
    actor: ActorOption,
    directory: FolderOption = FOLDER,
    valid_for: Annotated[int, typer.Option(help="Seconds until the approval expires.")] = DAY_S,
    digest: Annotated[
        str | None, typer.Option(help="The digest that you looked at; refused if the action has changed.")
    ] = None,
    mandate: Annotated[
        bool, typer.Option(help="Have the provider permit this amount for this subject as well.")
    ] = True,
    lock_timeout: LockOption = LOCK_TIMEOUT_S,
    json: JsonOption = False,
) -> None:
    """Approve the exact bytes that stand under the key, once, until the approval expires."""
    from labkit.harness import workflow_folder
    from labkit.protocol import flow

    _require_label("--actor", actor)
    if not 0 <= valid_for <= 366 * DAY_S:
        raise BadOption(f"--valid-for is {valid_for}", f"give seconds from 0 to {366 * DAY_S}, a year")
    with workflow_folder.driven(directory, lock_timeout, actor) as session:
        terms = flow.Terms(session.parties.now_ms + valid_for * 1000, digest, mandate)
        flow.approve(session.parties, session.ledger, session.operation(key), terms)
        show_one(session, key, json)


@workflow_app.command()
def replace(
    key: KeyArgument,
    action: ActionArgument,
    directory: FolderOption = FOLDER,
    actor: ActorOption = "worker",
    lock_timeout: LockOption = LOCK_TIMEOUT_S,
    json: JsonOption = False,
) -> None:
    """Put another action under the key.  Its approval is void: it waits for a person again."""
    from labkit.harness import action_files, workflow_folder
    from labkit.protocol import flow

    exact = action_files.read_action(action)
    _require_label("--actor", actor)
    with workflow_folder.driven(directory, lock_timeout, actor) as session:
        flow.replace(session.parties, session.operation(key), exact)
        show_one(session, key, json)


@workflow_app.command()
def resume(
    key: KeyArgument,
    directory: FolderOption = FOLDER,
    actor: ActorOption = "worker",
    crash_at: Annotated[
        Boundary | None, typer.Option(help="Leave the process there by exit code 86, without clean-up.")
    ] = None,
    fail: Annotated[Failure, typer.Option(help="How the provider's call fails.")] = "none",
    lock_timeout: LockOption = LOCK_TIMEOUT_S,
    json: JsonOption = False,
) -> None:
    """Bring it as far as it may go: the first run, or the seven moves of recovery.  Exit 0 if complete."""
    from labkit.harness import workflow_folder
    from labkit.protocol import flow

    _require_label("--actor", actor)
    mishap = workflow_folder.Mishap(crash_at, fail)
    with workflow_folder.driven(directory, lock_timeout, actor, mishap) as session:
        state = flow.run(session.parties, session.operation(key))
        show_one(session, key, json)
    if crash_at is not None:
        complain(f"{crash_at} was not reached in this run: read the timeline for what was")
    if crash_at is not None or state != "OUTCOME_VERIFIED":
        raise typer.Exit(1)


@workflow_app.command()
def reconcile(
    key: KeyArgument,
    answer: Annotated[Answer, typer.Argument(help="What you found out about the effect.")],
    actor: ActorOption,
    directory: FolderOption = FOLDER,
    lock_timeout: LockOption = LOCK_TIMEOUT_S,
    json: JsonOption = False,
) -> None:
    """Settle an unknown outcome by a person's word.  The first answer stands; another one is refused."""
    from labkit.harness import workflow_folder
    from labkit.protocol import dispositions

    _require_label("--actor", actor)
    with workflow_folder.driven(directory, lock_timeout, actor) as session:
        dispositions.reconcile(session.parties, session.operation(key), answer)
        show_one(session, key, json)


@workflow_app.command()
def show(key: KeyArgument, directory: FolderOption = FOLDER, json: JsonOption = False) -> None:
    """What the journal believes, what the ledger says, what the approver says.  Changes nothing."""
    from labkit.harness import workflow_folder

    with workflow_folder.opened(directory) as session:
        show_one(session, key, json)


@workflow_app.command()
def timeline(key: KeyArgument, directory: FolderOption = FOLDER, json: JsonOption = False) -> None:
    """The workflow's events, in order.  Changes nothing."""
    from labkit.harness import workflow_folder
    from labkit.protocol import views
    from labkit.ui import workflow_tables

    with workflow_folder.opened(directory) as session:
        events = views.timeline(session.parties.journal, key)
    if json:
        print_json({"workflow_id": key, "events": events})
    else:
        workflow_tables.print_timeline(key, events)


@workflow_app.command()
def scenarios() -> None:
    """The protocol read in memory, without any process: four scenarios and their results, as JSON."""
    from labkit.protocol.four_scenarios import four_scenarios

    print_json(four_scenarios())


def show_one(session: Session, key: str, json: bool) -> None:
    """One operation as it stands now, as JSON or as a table."""
    from labkit.protocol import views
    from labkit.ui import workflow_tables

    found = views.summary(session.parties, session.operation(key))
    if json:
        print_json(found)
    else:
        workflow_tables.print_summary(found)


def _require_label(option: str, text: str) -> None:
    """Refuse a label that cannot be read back as it was typed."""
    if not text.isprintable() or text != text.strip() or not text:
        raise BadOption(f"{option} is {text!r}", "give printable text without spaces around it")
