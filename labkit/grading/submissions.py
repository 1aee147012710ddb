"""A class's hand-ins, read: one submission for every entry of the folder, whatever is in it.

An entry is a learner: a folder, a zip archive such as `lab submit` makes, or a single file.  Nothing
here runs or imports what was handed in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from labkit.errors import BadOption, UnknownName
from labkit.grading import archives, cells
from labkit.grading.archives import Files, Refused
from labkit.grading.cells import Found
from labkit.learning.katas import Kata

MANIFEST = "submission.json"
PREDICTIONS = "predictions.sqlite3"


@dataclass(frozen=True, slots=True)
class Submission:
    """What one learner handed in: for every kata what was found, and the predictions' file."""

    learner: str
    found: dict[str, Found]
    predictions: bytes | None
    notes: tuple[str, ...] = ()


def read_class(folder: Path, katas: Sequence[Kata]) -> list[Submission]:
    """Every submission of a class, ordered by learner; there are as many as the folder has entries.

    Hidden entries (`.DS_Store`, `.git`) are none.

    Raises:
        UnknownName: there is no such folder.
        BadOption: it is empty.
    """
    if not folder.is_dir():
        raise UnknownName(f"{folder} is no folder", "name the folder that holds one entry a learner")
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    if not entries:
        raise BadOption(f"{folder} is empty", "put one folder or archive a learner into it")
    return sorted(
        (read_one(path, learner, katas) for path, learner in _named(entries)), key=lambda one: one.learner
    )


def _named(entries: list[Path]) -> Iterator[tuple[Path, str]]:
    """Each entry with its learner: a file without its ending, unless two entries would share that name."""
    stems = [path.stem if path.is_file() else path.name for path in entries]
    for path, stem in zip(entries, stems, strict=True):
        name = stem if stems.count(stem) == 1 else path.name
        yield path, name.encode("utf-8", "backslashreplace").decode()


def read_one(path: Path, learner: str, katas: Sequence[Kata]) -> Submission:
    """One learner's hand-in.  What cannot be read is a finding in it, never an exception."""
    try:
        files, notes = archives.handed_in(path)
        notes = [*notes, *_against_manifest(files)]
    except Refused as refused:
        found = Found(None, "malformed", str(refused))
        return Submission(learner, {kata.slug: found for kata in katas}, None, (str(refused),))
    except OSError as error:
        found = Found(None, "malformed", f"{path.name} cannot be read ({error.strerror})")
        return Submission(learner, {kata.slug: found for kata in katas}, None, (found.why,))
    notebooks, broken = _notebooks(files, [kata.slug for kata in katas])
    notes += broken
    results = {kata.slug: _answer(kata, notebooks.get(kata.slug, []), files, broken) for kata in katas}
    predictions = [files[name] for name in sorted(files) if PurePosixPath(name).name == PREDICTIONS]
    if len(predictions) > 1:
        notes.append("there are several prediction journals; the first counts")
    return Submission(learner, results, predictions[0] if predictions else None, tuple(notes))


Notebooks = dict[str, list[tuple[str, tuple[cells.Cell, ...]]]]


def _notebooks(files: Files, slugs: list[str]) -> tuple[Notebooks, list[str]]:
    """The notebooks by kata, and what was wrong with the others."""
    found: Notebooks = {}
    notes = []
    for name in sorted(name for name in files if name.lower().endswith(".ipynb")):
        try:
            read = cells.read_notebook(files[name])
        except cells.NotANotebook as error:
            notes.append(f"{name}: {error}")
            continue
        slug = cells.kata_of(read, PurePosixPath(name).name, slugs)
        if slug is None:
            notes.append(f"{name} is of no kata that is graded")
        else:
            found.setdefault(slug, []).append((name, read))
    return found, notes


def _answer(
    kata: Kata, notebooks: list[tuple[str, tuple[cells.Cell, ...]]], files: Files, broken: list[str]
) -> Found:
    """What was found for one kata: in a notebook first, since that is what the learner sees."""
    looked = [(name, cells.exercise_in(read, kata.slug, kata.exercise)) for name, read in notebooks]
    looked += [(name, _of_file(files[name], kata.exercise)) for name in _answer_files(files, kata.slug)]
    with_source = [(name, found) for name, found in looked if found.source is not None]
    if with_source:
        name, chosen = with_source[0]
        texts = {found.source for _, found in with_source}
        also = (
            (f"{len(with_source)} files hold answers that differ; {name} counts",) if len(texts) > 1 else ()
        )
        return Found(chosen.source, "judged", "", (*chosen.notes, *also))
    if looked:
        severity = ("tampered", "malformed", "not_attempted")
        return min((found for _, found in looked), key=lambda found: severity.index(found.outcome))
    for note in broken:
        if kata.slug in note:
            return Found(None, "malformed", note)
    return Found(None, "not_attempted", "nothing was handed in for it")


def _answer_files(files: Files, slug: str) -> list[str]:
    """Answer files of a kata: `k03_missing_ack.py` or `k03.py`, in any folder but that of earlier answers."""
    names = (f"{slug}.py", f"{slug.partition('_')[0]}.py")
    found = [PurePosixPath(name) for name in files]
    return sorted(str(path) for path in found if path.name in names and "earlier" not in path.parts)


def _of_file(content: bytes, function: str) -> Found:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Found(None, "malformed", f"the answer is no UTF-8 ({error.reason} at byte {error.start})")
    return cells.attempted(text, function)


def _against_manifest(files: Files) -> list[str]:
    """Notes on files that are not what the archive's own list says, where it has one."""
    notes = []
    for name in [name for name in files if PurePosixPath(name).name == MANIFEST]:
        base = name.removesuffix(MANIFEST)
        try:
            listed = json.loads(files[name])["files"]
            wrong = [
                inner for inner, digest in sorted(listed.items())
                if hashlib.sha256(files.get(base + inner, b"")).hexdigest() != digest
            ]  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            notes.append(f"{name} is no list of digests")
            continue
        notes += [f"{inner} is not what was packed: its digest differs" for inner in wrong]
    return notes
