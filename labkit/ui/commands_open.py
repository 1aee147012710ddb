"""`lab open`: JupyterLab on the start notebook, in the project's own environment."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.errors import BadOption, UnknownName
from labkit.learning import own_files
from labkit.ui import foreground
from labkit.ui.output import print_line

START = "notebooks/00_start_here.ipynb"
NEWS = "@jupyterlab/apputils-extension:announcements"
FIRST_PORT = 8888  # where it is taken, JupyterLab tries the ones above it
LOOPBACK = "127.0.0.1"


def register(app: typer.Typer) -> None:
    """Put the command on the application."""
    app.command("open")(open_lab)


def open_lab(
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="This one; 0: any free one.  Without it the first free one from 8888 on."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the browser, too.")] = True,
) -> None:
    """JupyterLab at the start notebook: on this machine only, with a token; Ctrl-C ends it."""
    from labkit.learning import places

    root = places.project_folder()
    if not (root / START).is_file():
        raise UnknownName(f"{START} is missing", "build it: lab author build")
    if importlib.util.find_spec("jupyterlab") is None:
        raise UnknownName(
            f"JupyterLab is not installed for {sys.executable}", "make venv, then .venv/bin/lab open"
        )
    if port:
        require_free(port)
    env = environment(places.workspace_folder())
    print_line("JupyterLab starts; Ctrl-C here ends it.")
    sys.stdout.flush()
    ended_by = foreground.until_told(command(root, FIRST_PORT if port is None else port, browser), env)
    print_line("JupyterLab has ended.")
    if ended_by not in (None, signal.SIGINT):
        raise typer.Exit(128 + ended_by)


def require_free(port: int) -> None:
    """Refuse a port that JupyterLab could not have.  Raises: BadOption."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as JupyterLab does: no wait after the last one
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            cure = "name another, 0 for any free one, or none"
            raise BadOption(f"--port {port} cannot be had ({error.strerror})", cure) from None


def command(root: Path, port: int, browser: bool) -> list[str]:
    """JupyterLab of this environment, on loopback; it makes a token and shows the address with it."""
    return [
        sys.executable, "-m", "jupyterlab", f"--LabApp.default_url=/lab/tree/{START}", f"--ServerApp.root_dir={root}",
        f"--ServerApp.ip={LOOPBACK}", f"--ServerApp.port={port}", f"--ServerApp.open_browser={browser}",
        "--ServerApp.allow_root=True",  # a container's only user is root, and nobody else reaches loopback
        "--ServerApp.log_level=WARN", "--LabApp.log_level=WARN",  # the address stays
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip


def environment(workspace: Path) -> dict[str, str]:
    """What JupyterLab inherits: a kernel `python3` of this interpreter stands before any other of that name.

    It asks for no news, and not whether it may.

    Raises:
        Conflict, ReadOnly, StoreUnwritable: the workspace cannot hold that.
    """
    own = workspace / ".jupyter"
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3 (labkit)",
        "language": "python",
    }
    page = {"disabledExtensions": {NEWS: True}}
    for name, content in (("kernels/python3/kernel.json", spec), ("labconfig/page_config.json", page)):
        own_files.put(own / name, json.dumps(content, indent=1).encode())
    return os.environ | {name: _before(own, name) for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")}


def _before(folder: Path, variable: str) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get(variable)]))
