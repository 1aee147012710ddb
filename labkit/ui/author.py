"""The author's tools: a new kata, its notebooks built from `lesson.py`, and the gate before it ships."""

from __future__ import annotations

import re
from pathlib import Path

from labkit.errors import BadKata, BadOption, OutputInUse
from labkit.learning import katas
from labkit.learning.katas import Kata
from labkit.learning.places import project_folder
from labkit.ui import editions, running, start_here

SOLVED = "solved.ipynb"
MODEL = "k03_missing_ack"  # what a new kata starts from


def build(kata: Kata) -> dict[Path, str]:
    """Both notebooks of a kata as (place, text).  The solved one is run, with the author's predictions.

    Raises:
        BadKata: the lesson is not one, or does not run to its end.
    """
    executed = running.execute(editions.lesson(kata), kata.author, kata.folder)
    if executed.problem:
        raise BadKata(f"{kata.slug}: the solved lesson stops ({executed.problem})", "mend the lesson")
    solved = editions.finished(executed.notebook, kata)
    return {learners_place(kata): learners_text(kata), kata.folder / SOLVED: editions.to_text(solved)}


def learners_place(kata: Kata) -> Path:
    """Where the learner's notebook stands."""
    return kata.folder.parents[1] / "notebooks" / f"{kata.slug}.ipynb"


def learners_text(kata: Kata) -> str:
    """The learner's notebook.  Raises: BadKata."""
    return editions.to_text(editions.learner(kata))


def build_start(root: Path) -> dict[Path, str]:
    """The notebook that opens the series, as (place, text).  Raises: BadKata."""
    every = [katas.find(name, root) for name in katas.names(root)]
    return {root / "notebooks" / f"{start_here.NAME}.ipynb": start_here.text(root, every)}


def write(files: dict[Path, str]) -> list[Path]:
    """Write built files, each whole or not at all; returns those that changed."""
    changed = []
    for path, text in files.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
        changed.append(path)
    return changed


def write_new(files: dict[Path, str]) -> list[Path]:
    """Write files of somebody else's folder.  Raises: OutputInUse: one is there and says otherwise."""
    for path, text in files.items():
        if path.exists() and path.read_text(encoding="utf-8") != text:
            raise OutputInUse(f"{path} is another notebook", "choose another folder, or move it away")
    write(files)
    return list(files)


def new(slug: str, root: Path | None = None) -> Path:
    """A new kata's folder: a copy of the model kata under a name of its own, to be rewritten.

    Raises:
        BadOption: the slug is not `kNN_words`.
        OutputInUse: there is such a folder already.
    """
    root = root or project_folder()
    if not katas.SLUG.fullmatch(slug):
        raise BadOption(f"{slug!r} is no kata name", "write kNN_words, such as k25_my_question")
    folder = root / "katas" / slug
    if folder.exists():
        raise OutputInUse(f"katas/{slug} exists already", "choose another name, or edit that one")
    model = katas.find(MODEL, root).folder
    for source in [*model.glob("*.toml"), *model.glob("*.py"), *model.glob("mutants/*.py")]:
        path = folder / source.relative_to(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.read_text(encoding="utf-8").replace(MODEL, slug), encoding="utf-8")
    return folder


def caught_by(mutant: Path) -> str:
    """The verdict that must catch a mutant: its constant `CAUGHT_BY`.  Raises: BadKata without one."""
    found = re.search(r'^CAUGHT_BY = "(\w+)"$', mutant.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise BadKata(f"{mutant.name} names no verdict", 'write CAUGHT_BY = "duplicate" in it')
    return found[1]
