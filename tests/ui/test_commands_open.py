"""`lab open` starts JupyterLab on loopback, with a token and a kernel that finds labkit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.ui.commands_open import environment

STARTS_WITHIN_S = 90


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[str]:
    """The address that a really started `lab open` shows; JupyterLab is ended afterwards."""
    log = tmp_path / "log"
    env = os.environ | {"LAB_WORKSPACE": str(tmp_path / "workspace")}
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "labkit.ui.cli", "open", "--no-browser", "--port", "0"],
            stdout=stderr, stderr=stderr, env=env, start_new_session=True,
        )  # fmt: skip
    try:
        yield address(log, process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """The first address with a token that JupyterLab prints."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*token=\w+", log.read_text(errors="replace")):
            return found.group()
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace"))


def fetched(url: str) -> Any:
    """The JSON behind an address; the server shows its address a moment before it listens."""
    until = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            with urllib.request.urlopen(url) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@pytest.mark.timeout(240)
def test_jupyterlab_starts_on_loopback_with_a_token_and_this_environments_kernel(opened: str) -> None:
    """The address needs its token, and the kernel named python3 is this interpreter."""
    base, _, token = opened.partition("/lab")
    token = token.rpartition("token=")[2]
    specs = fetched(f"{base}/api/kernelspecs?token={token}")["kernelspecs"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{base}/api/kernelspecs")

    refused.value.close()

    assert "/lab/tree/notebooks/00_start_here.ipynb" in opened
    assert specs["python3"]["spec"]["argv"][0] == sys.executable
    assert refused.value.code == 403


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
