"""`lab open`: JupyterLab on the start notebook, in the project's own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.errors import HarnessError, UnknownName

START = "notebooks/00_start_here.ipynb"
NEWS = "@jupyterlab/apputils-extension:announcements"


def register(app: typer.Typer) -> None:
    """Put the command on the application."""
    app.command("open")(open_lab)


def open_lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open the browser, too.")] = True,
) -> None:
    """JupyterLab at the start notebook: on this machine only, with a token; Ctrl-C ends it."""
    from labkit.learning import places

    root = places.project_folder()
    if not (root / START).is_file():
        raise UnknownName(f"{START} is missing", "build it: lab author build")
    try:
        done = subprocess.run(
            command(root, port, browser), env=environment(places.workspace_folder()), check=False
        )
    except KeyboardInterrupt:
        return  # JupyterLab had it too, and has ended
    if done.returncode not in (0, -2, 130):
        raise HarnessError(f"JupyterLab ended with {done.returncode}", "its last lines above say why")


def command(root: Path, port: int, browser: bool) -> list[str]:
    """JupyterLab of this environment, on loopback; it makes a token and shows the address with it."""
    return [
        sys.executable, "-m", "jupyterlab", f"--LabApp.default_url=/lab/tree/{START}", f"--ServerApp.root_dir={root}",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", f"--ServerApp.open_browser={browser}",
        "--ServerApp.allow_root=True",  # a container's only user is root, and nobody else reaches loopback
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip


def environment(workspace: Path) -> dict[str, str]:
    """What JupyterLab inherits: a kernel `python3` of this interpreter stands before any other of that name.

    It asks for no news, and not whether it may.
    """
    own = workspace / ".jupyter"
    kernel = own / "kernels" / "python3"
    kernel.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3 (labkit)",
        "language": "python",
    }
    (kernel / "kernel.json").write_text(json.dumps(spec, indent=1), encoding="utf-8")
    page = own / "labconfig" / "page_config.json"
    page.parent.mkdir(exist_ok=True)
    page.write_text(json.dumps({"disabledExtensions": {NEWS: True}}, indent=1), encoding="utf-8")
    return os.environ | {name: _before(own, name) for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")}


def _before(folder: Path, variable: str) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get(variable)]))
