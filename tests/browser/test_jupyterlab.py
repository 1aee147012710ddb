"""A learner's way through k03 in a real JupyterLab, driven by Chromium; nothing of it leaves this machine.

Screenshots of every station lie in tests/browser/screenshots/, which git ignores.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
SHOTS = Path(__file__).with_name("screenshots")
MODEL = "k03_missing_ack"
PATIENCE_MS = 30_000  # a shared machine may be slow; nothing here waits longer than it has to
CHROMIUM = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SETTINGS = {  # every cell is in the page, also what has scrolled away
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
WRONG = (ROOT / "katas" / MODEL / "mutants" / "new_key.py").read_text(encoding="utf-8")
RIGHT = """from labkit.kata import World, atomic


def resume(world: World) -> str:
    operation = world.operation()
    if operation.checkpointed:
        return "complete"
    found = world.payments.read(operation.operation_id)
    if found.status == "absent":
        found = world.payments.submit(operation.operation_id, operation.action)
    with atomic(world.journal.db):
        world.journal.checkpoint(operation.operation_id, found.receipt, world.now_ms)
    return found.status
"""
PREDICTED = {
    "Payments in the ledger when the worker has just died": "1",
    "Checkpoints in the journal at that moment": "0",
    "Payments after resume has run": "1",
    "Payments after the resume that takes a new key": "1",  # wrong, and it costs nothing
    "Exit code of that last process": "0",
}
READ = PREDICTED | {"Payments after the resume that takes a new key": "2"}
BECAUSE = "The ledger committed before the kill."

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """JupyterLab of a copied project, started by `lab open`; everything it writes goes with the test."""
    for name in ("katas", "notebooks"):
        shutil.copytree(
            ROOT / name, tmp_path / "project" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name, settings in SETTINGS.items():
        path = tmp_path / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    folders = {
        "LAB_ROOT": "project", "LAB_WORKSPACE": "workspace", "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "windows", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data",
        "IPYTHONDIR": "ipython",
    }  # fmt: skip
    env = os.environ | {name: str(tmp_path / folder) for name, folder in folders.items()}
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "labkit.ui.cli", "open", "--no-browser", "--port", "0"],
            stdout=out, stderr=out, env=env, start_new_session=True,
        )  # fmt: skip
    try:
        yield _address(log, process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*token=\w+", log.read_text(errors="replace")):
            return found.group()
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace"))


@pytest.fixture
def asked() -> list[str]:
    """The address of every request that the browser makes."""
    return []


@pytest.fixture
def page(
    address: str, asked: list[str], tmp_path: Path, system_program: Callable[..., str]
) -> Iterator[Page]:
    """The kata's notebook in Chromium, with a user's folder of its own."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "user",
            executable_path=system_program("chromium", "chromium-browser", "google-chrome"),
            args=CHROMIUM,
            viewport={"width": 1280, "height": 1400},
        )
        context.set_default_timeout(PATIENCE_MS)
        context.on("request", lambda request: asked.append(request.url))
        page = context.pages[0]
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.goto(address.replace("00_start_here", MODEL))
        expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible(timeout=PATIENCE_MS)
        idle(page)
        yield page
        shot(page, "0_last")
        context.close()


def idle(page: Page) -> None:
    """The kernel is there and has nothing to do."""
    expect(page.get_by_text("Python 3 (labkit) | Idle")).to_be_visible(timeout=PATIENCE_MS)


def cell(page: Page, begin: str) -> Locator:
    """The code cell that holds this line."""
    return page.locator(".jp-CodeCell").filter(has=page.locator(".cm-content", has_text=begin)).first


def menu(page: Page, name: str, command: str | re.Pattern[str]) -> None:
    """Choose a command of the menu bar."""
    page.get_by_role("menubar").get_by_role("menuitem", name=name, exact=True).click()
    page.get_by_role("menu").get_by_role("menuitem", name=command).first.click()


def in_theme(page: Page, name: str) -> None:
    """Change JupyterLab's theme, as a learner does, and wait for it."""
    page.get_by_role("menubar").get_by_role("menuitem", name="Settings", exact=True).click()
    items = page.locator(".lm-Menu-itemLabel")  # by text: the role query does not find what opens a submenu
    items.filter(has_text=re.compile("^Theme$")).click()
    items.filter(has_text=re.compile(f"^JupyterLab {name}$")).click()
    is_light = str(name == "Light").lower()
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", is_light, timeout=PATIENCE_MS)


def contrast(page: Page, text: Locator) -> float:
    """How far a text stands out from the notebook's ground, by WCAG's formula: 1 to 21."""
    ground = page.locator(".jp-Notebook").first
    found = [
        element.evaluate(f"e => getComputedStyle(e).{style}")
        for element, style in ((text, "color"), (ground, "backgroundColor"))
    ]
    dark, light = sorted(_luminance(colour) for colour in found)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    whole = 1 if colour.startswith("color(srgb") else 255  # what color-mix gives
    channels = [float(part) / whole for part in re.findall(r"[\d.]+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def run(page: Page, begin: str) -> Locator:
    """Run one cell by the keyboard, wait for its end, and return its output."""
    found = cell(page, begin)
    before = found.locator(".jp-InputPrompt").inner_text()
    found.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(found.locator(".jp-InputPrompt")).not_to_have_text(before, timeout=PATIENCE_MS)
    expect(found.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"), timeout=PATIENCE_MS)
    return found.locator(".jp-Cell-outputArea")


def write(page: Page, begin: str, source: str) -> None:
    """Put other source into a cell, as pasting does."""
    cell(page, begin).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)


def shot(page: Page, name: str, place: Locator | None = None) -> None:
    SHOTS.mkdir(exist_ok=True)
    if place is not None:
        place.scroll_into_view_if_needed()
    page.screenshot(path=SHOTS / f"{name}.png")


def fill(form: Locator, answers: dict[str, str]) -> None:
    """Answer the questions of a form."""
    for label, answer in answers.items():
        form.get_by_label(label).fill(answer)


def let_go(page: Page, scrubber: Locator, key: str, ending: str) -> None:
    """Move the slider by a key, and wait for the real trial that this starts."""
    scrubber.get_by_role("slider").press(key)
    expect(scrubber.get_by_role("status")).to_contain_text(ending, timeout=PATIENCE_MS)


def test_a_learner_goes_through_the_kata(page: Page, asked: list[str]) -> None:
    """From the form that stops Run All to the kill that the learner moves; nothing leaves this machine."""
    reopens_what_was_never_filled_in(page)
    predicts_and_seals(page)
    runs_reads_and_checks(page)
    restarts_and_finds_the_prediction(page)
    answers_wrong_and_moves_the_kill(page)
    answers_right_in_the_dark(page)
    loses_the_kernel_and_reopens(page)

    assert {urlsplit(url).hostname for url in asked if url.startswith(("http", "ws"))} == {"127.0.0.1"}
    assert [url for url in asked if not url.startswith(("http", "ws", "data:", "blob:"))] == []


def restart(page: Page) -> None:
    """A new kernel, which knows no widget of the old one."""
    menu(page, "Kernel", re.compile("^Restart Kernel…"))
    page.get_by_role("button", name="Confirm Kernel Restart").click()


def reopen(page: Page) -> None:
    """Save the notebook, close it, and open its file again."""
    menu(page, "File", "Save Notebook")
    menu(page, "File", "Close Tab")
    expect(page.locator(".jp-NotebookPanel")).to_have_count(0)
    page.get_by_role("listitem", name=re.compile(MODEL)).dblclick()


def reopens_what_was_never_filled_in(page: Page) -> None:
    """The form is gone with its kernel; its questions, and how to get it back, are in the notebook's file."""
    menu(page, "Run", "Run All Cells")
    output = cell(page, "kata.predict(").locator(".jp-Cell-outputArea")
    kept, widget = output.locator(".labkit-kept"), output.locator(".jp-OutputArea-output").first
    expect(output.locator(".labkit-form")).to_be_visible(timeout=PATIENCE_MS)
    expect(kept).to_be_hidden()
    idle(page)
    restart(page)
    expect(kept).to_be_visible(timeout=PATIENCE_MS)
    expect(output.locator(".labkit-form")).to_be_hidden()
    idle(page)
    reopen(page)
    expect(widget).to_have_text(re.compile("Error displaying widget|Loading widget"), timeout=PATIENCE_MS)
    expect(widget).to_be_hidden()
    for text in ("This cell waits for your prediction. To fill it in, run", "How sure are you", *PREDICTED):
        expect(kept.get_by_text(text)).to_be_visible()
    for text in (kept.get_by_text("This cell waits"), kept.get_by_text("How sure are you")):
        assert contrast(page, text) >= 4.5
    shot(page, "0_reopened", kept)
    idle(page)


def predicts_and_seals(page: Page) -> None:
    """Run All stops at the form with a friendly line; sealing waits until all is answered."""
    predict = cell(page, "kata.predict(")
    menu(page, "Run", "Run All Cells")
    form = predict.locator(".labkit-form")
    expect(form).to_be_visible(timeout=PATIENCE_MS)
    idle(page)
    said = predict.locator(".jp-Cell-outputArea").inner_text()
    assert "NotSealed: no prediction is sealed for k03_missing_ack: use the form below" in said
    assert "Traceback" not in said
    assert cell(page, 'kata.run("killed")').locator(".jp-OutputArea-output").count() == 0

    seal = form.get_by_role("button", name="Seal prediction")
    expect(seal).to_be_disabled()
    shot(page, "1_form", form)
    fill(form, PREDICTED)
    form.get_by_label("67 to 80 % sure").check()
    expect(form.get_by_role("status")).to_contain_text("1 still to answer; next: your reason")
    form.get_by_label("Why?").fill(BECAUSE)
    expect(seal).to_be_enabled()
    for theme in ("Dark", "Light"):
        in_theme(page, theme)
        for text in (
            form.get_by_text("Exit code of that"),
            form.get_by_role("status"),
            form.get_by_label("Why?"),
        ):
            assert contrast(page, text) >= 4.5
        shot(page, f"2_filled_{theme.lower()}", form)
    seal.focus()
    page.keyboard.press("Enter")
    expect(form).to_have_count(0)
    expect(predict.locator(".jp-Cell-outputArea")).to_contain_text(BECAUSE)
    expect(predict.locator(".labkit-kept")).to_have_count(0)
    shot(page, "3_sealed", predict)


def runs_reads_and_checks(page: Page) -> None:
    """Now Run All kills, and stops once more: the learner says what the rows say, and only then is told."""
    menu(page, "Run", "Run All Cells")
    observe = cell(page, "kata.observe(")
    form = observe.locator(".labkit-form")
    expect(form).to_be_visible(timeout=PATIENCE_MS)
    idle(page)
    assert cell(page, "kata.check()").locator(".jp-OutputArea-output").count() == 0
    shot(page, "4_killed", cell(page, 'kata.run("killed")').locator(".jp-Cell-outputArea"))
    fill(form, READ)
    shot(page, "5_reading", form)
    form.get_by_role("button", name="Keep what I read").click()
    expect(form).to_have_count(0)
    checked = run(page, "kata.check()")
    expect(checked).to_contain_text("4 of 5 right, at 67-80 % certainty")
    expect(checked).to_contain_text("order-1001:charge:retry-2")
    shot(page, "6_checked", checked)


def restarts_and_finds_the_prediction(page: Page) -> None:
    """What was sealed and read is in the journal, and no form asks again."""
    menu(page, "Kernel", "Restart Kernel and Clear Outputs")
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    idle(page)
    run(page, "predictions = None")
    run(page, "open_kata(")
    predicted = run(page, "kata.predict(")
    assert BECAUSE in predicted.inner_text()
    read = run(page, "kata.observe(")
    expect(read).to_contain_text("payments_with_new_key")
    assert page.locator(".labkit-form").count() == 0
    shot(page, "7_restarted", predicted)


def answers_wrong_and_moves_the_kill(page: Page) -> None:
    """The crash map shows where it pays twice; the slider stands there, and one point before it pays once."""
    write(page, "def resume(world: World)", WRONG)
    run(page, "def resume(world: World)")
    wrong = run(page, "kata.check(resume)")
    expect(wrong.locator(".lk-cm")).to_contain_text("duplicate")
    shot(page, "8_wrong", wrong)

    scrubbed = run(page, "kata.scrub()").locator(".labkit-scrubber")
    status = scrubbed.get_by_role("status")
    expect(status).to_contain_text("duplicate at 21 effect.committed", timeout=PATIENCE_MS)
    expect(scrubbed.get_by_role("img")).to_contain_text("SIGKILL")
    expect(scrubbed).to_contain_text("order-1001:charge:retry-2")
    for text in (status, status.locator("span"), scrubbed.locator("pre span[style*=color]")):
        assert contrast(page, text) >= 4.5
    shot(page, "9_scrubbed", scrubbed)
    let_go(page, scrubbed, "ArrowLeft", "exactly_one at 20 COMMIT")
    expect(scrubbed.get_by_role("img")).to_contain_text("inserted, never committed")
    expect(scrubbed.get_by_role("img")).to_contain_text("at the kill: payments 0 effects")
    in_theme(page, "Dark")
    for text in (status, status.locator("span"), scrubbed.locator("pre span[style*=color]")):
        assert contrast(page, text) >= 4.5
    shot(page, "10_scrubbed_dark", scrubbed)


def answers_right_in_the_dark(page: Page) -> None:
    """The same kills, and the map has nothing to show; the same slider, and it finds no point that fails."""
    write(page, "def resume(world: World)", RIGHT)
    run(page, "def resume(world: World)")
    right = run(page, "kata.check(resume)")
    expect(right.locator(".lk-cm")).to_contain_text("pass")
    expect(right.locator(".lk-cm")).not_to_contain_text("duplicate")
    shot(page, "11_right_dark", right)
    in_theme(page, "Light")
    shot(page, "11_right_light", right)
    scrubbed = run(page, "kata.scrub()").locator(".labkit-scrubber")
    expect(scrubbed.get_by_role("status")).to_contain_text("exactly_one at 21 effect", timeout=PATIENCE_MS)
    scrubbed.get_by_label("Kill at crash point").fill("0")
    page.keyboard.press("Enter")
    expect(scrubbed.get_by_role("status")).to_contain_text("exactly_one with no kill", timeout=PATIENCE_MS)
    shot(page, "12_no_kill", scrubbed)


def loses_the_kernel_and_reopens(page: Page) -> None:
    """The notebook's file has what was sealed, and the kill that was seen last.

    A slider goes with its kernel.  JupyterLab then has only a line about a widget, and the plain output in its place.
    """
    output = cell(page, "kata.scrub()").locator(".jp-Cell-outputArea")
    kept, slider = output.locator(".labkit-kept"), output.locator(".jp-OutputArea-output").first
    expect(kept).to_be_hidden()
    restart(page)
    expect(kept).to_be_visible(timeout=PATIENCE_MS)
    expect(output.locator(".labkit-scrubber")).to_be_hidden()
    idle(page)
    reopen(page)
    expect(slider).to_have_text(re.compile("Error displaying widget|Loading widget"), timeout=PATIENCE_MS)
    expect(slider).to_be_hidden()
    for text in ("To move the kill, run the cells above, then this one.", "exactly_one with no kill"):
        expect(kept.get_by_text(text)).to_be_visible()
    expect(kept.get_by_role("img")).to_contain_text("after the first run: payments 1 effect")
    shot(page, "13_no_slider", kept)
    expect(cell(page, "kata.predict(").locator(".jp-Cell-outputArea")).to_contain_text(BECAUSE)
    idle(page)
