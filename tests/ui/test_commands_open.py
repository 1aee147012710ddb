"""`lab open` starts JupyterLab on loopback, with a token and a kernel that finds labkit, and leaves nothing behind."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.ui import commands_open
from labkit.ui.cli import main
from labkit.ui.commands_open import environment

STARTS_WITHIN_S = 90
Opened = tuple[str, "subprocess.Popen[bytes]"]

# Waits until its server is up, then until it is told to end it.
OUTER = """
import os, sys
from labkit.ui import foreground
print(foreground.until_told([sys.executable, "-u", "-c", sys.argv[1]], os.environ), flush=True)
"""
INNER = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: print("asked to end", flush=True))
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""


def processes() -> list[tuple[int, int]]:
    """Every process that is no zombie, and its parent."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [(int(pid), int(parent)) for pid, parent, state in rows if not state.startswith("Z")]


def below(root: int) -> list[int]:
    """The children of a process, and theirs."""
    running = processes()
    found = [root]
    for parent in found:  # it grows
        found += [pid for pid, its_parent in running if its_parent == parent]
    return found[1:]


def ends(pid: int) -> bool:
    """Whether a process ends soon."""
    until = time.monotonic() + 10
    while any(pid == one for one, _ in processes()):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """A really started `lab open`, and the address that it shows."""
    log = tmp_path / "log"
    env = os.environ | {"LAB_WORKSPACE": str(tmp_path / "workspace")}
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "labkit.ui.cli", "open", "--no-browser", "--port", "0"],
            stdout=stderr, stderr=stderr, env=env, start_new_session=True,
        )  # fmt: skip
    try:
        yield address(log, process), process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(30)


def address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """The first address with a token that JupyterLab prints."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*token=\w+", log.read_text(errors="replace")):
            return found.group()
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace"))


def fetched(url: str, data: bytes | None = None) -> Any:
    """The JSON behind an address; the server shows its address a moment before it listens."""
    until = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            with urllib.request.urlopen(url, data) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@pytest.mark.timeout(240)
def test_jupyterlab_starts_on_loopback_with_a_token_and_leaves_no_process(opened: Opened) -> None:
    """The address needs its token, the kernel named python3 is this interpreter, and SIGTERM ends all of it."""
    shown, process = opened
    base, _, token = shown.partition("/lab")
    token = token.rpartition("token=")[2]
    specs = fetched(f"{base}/api/kernelspecs?token={token}")["kernelspecs"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{base}/api/kernelspecs")

    refused.value.close()

    assert "/lab/tree/notebooks/00_start_here.ipynb" in shown
    assert specs["python3"]["spec"]["argv"][0] == sys.executable
    assert refused.value.code == 403

    fetched(f"{base}/api/kernels?token={token}", b'{"name": "python3"}')
    started = below(process.pid)
    process.terminate()

    assert process.wait(30) == 128 + signal.SIGTERM
    assert len(started) >= 2  # JupyterLab and its kernel
    assert all(ends(pid) for pid in started)


@pytest.fixture
def outer() -> Iterator[subprocess.Popen[str]]:
    """A process that runs a server which does not end when it is asked to."""
    with subprocess.Popen(
        [sys.executable, "-c", OUTER, INNER], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        yield process
        process.kill()


def server_of(outer: subprocess.Popen[str]) -> int:
    assert outer.stdout is not None
    return int(outer.stdout.readline())


def test_told_twice_it_waits_no_longer_for_a_server_that_goes_on(outer: subprocess.Popen[str]) -> None:
    server = server_of(outer)
    outer.send_signal(signal.SIGINT)
    assert outer.stdout is not None
    assert outer.stdout.readline() == "asked to end\n"
    outer.send_signal(signal.SIGINT)

    assert outer.stdout.readline() == f"{int(signal.SIGINT)}\n"
    assert ends(server)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells a child that its parent died")
def test_a_server_is_asked_to_end_when_we_are_killed(outer: subprocess.Popen[str]) -> None:
    server = server_of(outer)
    outer.kill()

    assert outer.stdout is not None
    assert outer.stdout.readline() == "asked to end\n"
    os.kill(server, signal.SIGKILL)


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """The exit code and the one line of a `lab open` that starts nothing."""
    code = main(["open", "--no-browser", *options])
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    return code, said.err


def test_a_port_that_is_taken_is_said_before_anything_starts(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert refused(capsys, "--port", port) == (
            2,
            f"--port {port} cannot be had (Address already in use): name another, 0 for any free one, or none\n",
        )
    assert not (tmp_path / "workspace").exists()


def test_what_cannot_start_is_one_line(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace that cannot be made, JupyterLab that is missing, JupyterLab that fails."""
    (tmp_path / "workspace").write_text("mine", encoding="utf-8")
    code, said = refused(capsys)
    assert (code, "a file lies there or above it" in said) == (3, True)

    (tmp_path / "workspace").unlink()
    monkeypatch.setattr(commands_open, "command", lambda *_: [sys.executable, "-m", "this.is.none", "-h"])
    code = main(["open"])
    said = capsys.readouterr().err
    assert (code, said) == (3, "this.is.none ended with 1: what it printed above says why\n")

    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    code, said = refused(capsys)
    assert (code, "JupyterLab is not installed" in said) == (2, True)


def test_another_kernelspec_of_that_name_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's own kernel stands first on Jupyter's path, and the user's path stays behind it."""
    monkeypatch.setenv("JUPYTER_PATH", "/elsewhere")
    paths = environment(tmp_path)["JUPYTER_PATH"].split(os.pathsep)
    kernel = json.loads((Path(paths[0]) / "kernels/python3/kernel.json").read_text())

    assert paths[1:] == ["/elsewhere"]
    assert kernel["argv"][0] == sys.executable


def test_it_asks_for_no_news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension that would ask whether it may is off, and the user's own settings stay behind ours."""
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/elsewhere")
    paths = environment(tmp_path)["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    page = json.loads((Path(paths[0]) / "labconfig/page_config.json").read_text())

    assert paths[1:] == ["/elsewhere"]
    assert page == {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
