"""`lab`: the command line.  Every way out of it has one of the exit codes below.

    0  pass
    1  something fell short: the command worked, and what it looked at did not hold
    2  wrong use; nothing was changed
    3  the infrastructure broke; never reported as a score

A command raises a `LabError`, or `typer.Exit(1)` where something fell short; `main` turns the error
into one line on stderr and its exit code.  Interrupted by the keyboard it is 130, as in every shell.

Each group of commands is a module `commands_<name>`.  Its module level imports typer and little else;
what a command works with is imported inside it, so that `lab --help` stays quick.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from labkit import __version__
from labkit.errors import InfrastructureError, LabError, UsageError
from labkit.ui import (
    commands_author,
    commands_bench,
    commands_evidence,
    commands_grade,
    commands_kata,
    commands_learn,
    commands_open,
    commands_predict,
    commands_review,
    commands_sweep,
    commands_workflow,
)
from labkit.ui.output import complain

INTERRUPTED = 130  # 128 + SIGINT

# Notebooks and plots bring jsonschema along, which loads a grammar of internationalised addresses where it is
# there.  Nothing here has such an address, and the loading alone takes longer than most commands.
# None says that it cannot be imported, which jsonschema takes for an extra that is not installed.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

app = typer.Typer(name="lab", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
commands_kata.register(app)
commands_open.register(app)
commands_learn.register(app)
commands_predict.register(app)
commands_review.register(app)
commands_evidence.register(app)
commands_author.register(app)
commands_workflow.register(app)
commands_sweep.register(app)
commands_bench.register(app)
commands_grade.register(app)


@app.callback(invoke_without_command=True)
def lab(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print it and leave.")] = False,
) -> None:
    """A process died; did its effect happen?  Predict, kill a real process, check against durable rows."""
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.  `arguments` are those of the process by default."""
    try:
        returned = app(args=arguments, prog_name="lab", standalone_mode=False)
        sys.stdout.flush()
        return returned if isinstance(returned, int) else 0
    except LabError as error:
        complain(str(error))
        return error.exit_code
    except TyperException as error:
        complain(_usage(error))
        return UsageError.exit_code
    except BrokenPipeError:
        # Whoever read us has seen enough.  Python would complain once more while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except PermissionError as error:
        complain(f"{error}: change its permissions, or choose another place")
        return UsageError.exit_code
    except OSError as error:
        complain(f"{error}: check the disk, the permissions and the limits of this machine")
        return InfrastructureError.exit_code
    except Exception as error:  # noqa: BLE001  a bug of ours is no score, and no screenful either
        if os.environ.get("LAB_TRACEBACK"):
            traceback.print_exc()
        complain(f"{type(error).__name__}: {error}: a bug in labkit; LAB_TRACEBACK=1 shows where")
        return InfrastructureError.exit_code


def _usage(error: TyperException) -> str:
    """What typer found wrong, and the command that tells the right use."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "lab"
    return f"{error.format_message().rstrip('.')}: see `{path} --help`"


if __name__ == "__main__":
    sys.exit(main())
