"""The documentation runs, and names everything there is.

Python blocks of README and docs/*.md are executed, docstring examples too; every command line shown in
them is one that exists; every command, error and boundary stands in one of those files.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import labkit
from labkit import boundaries, errors

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
EXAMPLE_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PYTHON = ("python", "py", "pycon")
SHELL = ("sh", "bash", "console", "shell")
OTHER = ("", "text", "json", "toml", "sql", "mermaid")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page: its language, its text, and the line of the page its text starts on."""

    page: Path
    language: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of `page`, in order."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, found.start(2)) + 1
        yield Block(page, found[1].strip(), line, found[2])


BLOCKS = [block for page in PAGES for block in blocks(page)]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def run_examples(text: str, name: str, line: int, names: dict[str, Any]) -> None:
    """Run `>>>` examples, or a plain block as one program; `names` is what earlier blocks left behind."""
    if ">>> " not in text:
        exec(compile("\n" * (line - 1) + text, name, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, name, name, line - 1)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=EXAMPLE_FLAGS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    if result.failed:
        raise AssertionError("".join(report))


@pytest.fixture
def reader_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the working directory, with the repository's data and katas at hand."""
    for name in ("data", "katas"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, reader_folder: Path) -> None:
    """A page reads from top to bottom: what one block defines, the next may use."""

    names: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page):
        if saved := re.match(r"# (\w+\.py)\n", block.text):  # what the reader is told to save under this name
            (reader_folder / saved[1]).write_text(block.text, encoding="utf-8")
            names["__file__"] = str(reader_folder / saved[1])
        if block.language in PYTHON:
            run_examples(block.text, page.name, block.line, names)


def test_every_block_has_a_language_that_is_handled() -> None:
    """A misspelt language would quietly take a block out of these tests."""

    assert [f"{b}: {b.language}" for b in BLOCKS if b.language not in PYTHON + SHELL + OTHER] == []


def modules() -> list[str]:
    """Every module of labkit; `__main__` is left out because importing it is running it."""
    found = pkgutil.walk_packages(labkit.__path__, "labkit.")
    return ["labkit", *sorted(m.name for m in found if not m.name.endswith("__main__"))]


@pytest.mark.usefixtures("reader_folder")
@pytest.mark.parametrize("name", modules())
def test_docstring_examples_run(name: str) -> None:
    """An example in a docstring is a promise like any other."""

    result = doctest.testmod(importlib.import_module(name), optionflags=EXAMPLE_FLAGS)

    assert result.failed == 0


def cell(text: str | None) -> str:
    """The first sentence or line of a docstring, as it stands in a table."""
    return (inspect.cleandoc(text or "").splitlines() or [""])[0].replace("|", r"\|")


def every_error() -> list[type[errors.LabError]]:
    """The error tree, each class after its base."""
    tree, found = [errors.LabError], []
    while tree:
        found.append(tree.pop(0))
        tree[:0] = found[-1].__subclasses__()
    return [error for error in found if error.__module__.startswith("labkit.")]


def error_row(error: type[errors.LabError]) -> str:
    """The line of the documentation's table that says what `error` means for the effect."""
    return f"| `{error.__name__}` | {error.exit_code} | {error.effect} | {cell(error.__doc__)} |"


def boundary_row(boundary: boundaries.Boundary) -> str:
    """The line of the documentation's table that says what is durable at `boundary`."""
    return f"| `{boundary.value}` | {boundary.sentence} |"


def test_every_error_is_documented() -> None:
    """Paste the missing rows into docs/reference.md; the class itself is where they are written."""

    missing = [row for row in map(error_row, every_error()) if row not in TEXT]

    assert "\n".join(missing) == ""


def test_every_boundary_is_documented() -> None:
    """Paste the missing rows into docs/reference.md; the enumeration is where they are written."""

    missing = [row for row in map(boundary_row, boundaries.Boundary) if row not in TEXT]

    assert "\n".join(missing) == ""


def test_the_error_module_opens_with_the_whole_tree() -> None:
    """The tree drawn at the top of labkit.errors has every class of the module."""

    drawn = errors.__doc__ or ""

    assert [
        e.__name__ for e in every_error() if e.__module__ == errors.__name__ and e.__name__ not in drawn
    ] == []


def commands(command: Any, words: str = "lab") -> Iterator[tuple[str, Any]]:
    """Every command a person can type, as ("lab workflow create", command); groups and hidden ones left out."""
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
        return
    for name, child in below.items():
        if not child.hidden:
            yield from commands(child, f"{words} {name}")


def command_line() -> dict[str, Any]:
    """The commands of `lab`, read from the application itself."""
    cli = importlib.import_module("labkit.ui.cli")
    return dict(commands(typer.main.get_command(cli.app)))


def test_every_command_is_documented() -> None:
    """Whatever `lab --help` offers, a page says what it is for, by its full name."""

    assert [name for name in command_line() if not re.search(rf"\b{name}\b", TEXT)] == []


def shown_commands() -> list[tuple[str, list[str]]]:
    """The words of each `lab ...` and `make ...` line in the shell blocks, with the place it stands."""
    found = []
    for block in BLOCKS:
        if block.language not in SHELL:
            continue
        for number, line in enumerate(block.text.replace("\\\n", " ").splitlines(), block.line):
            if block.language == "console" and not line.startswith("$ "):
                continue  # what the command printed
            words = shlex.split(line.removeprefix("$ "), comments=True)
            words = words[2:] if words[:2] == ["uv", "run"] else words
            if words and words[0] in ("lab", "make"):
                found.append((f"{block.page.name}:{number}", words))
    return found


def test_every_command_shown_exists() -> None:
    """A line that a reader would type names a command, and options that this command has."""

    known, wrong = command_line(), []
    for place, words in shown_commands():
        if words[0] != "lab":
            continue
        name = next((n for n in known if words[: len(n.split())] == n.split()), None)
        options = {option for parameter in known[name].params for option in parameter.opts} if name else set()
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        if name is None or given - options - {"--help"}:
            wrong.append(f"{place}: {shlex.join(words)}")

    assert wrong == []


def test_every_make_target_shown_exists() -> None:
    """A line that a reader would type names a target of the Makefile."""

    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    assert [
        (place, words)
        for place, words in shown_commands()
        if words[0] == "make" and set(words[1:2]) - targets
    ] == []


def test_the_two_commands_stand_first() -> None:
    """The first thing to type in README is `make run`, then `make test`."""

    first = [words for place, words in shown_commands() if place.startswith("README")][:2]

    assert first == [["make", "run"], ["make", "test"]]


def test_a_wrong_example_is_caught(tmp_path: Path) -> None:
    """The runner above bites: a plain block that raises and an example that lies."""

    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n```python\nassert 1 == 2\n```\n\n```pycon\n>>> 1 + 1\n3\n```\n", encoding="utf-8"
    )
    plain, example = blocks(page)

    with pytest.raises(AssertionError) as raised:
        run_examples(plain.text, "page.md", plain.line, {})
    assert raised.traceback[-1].lineno + 1 == 4
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run_examples(example.text, "page.md", example.line, {})
