"""A kata as the learner gets it: its question and exercise, and both put back to their start."""

from __future__ import annotations

import hashlib
from pathlib import Path

from labkit.errors import Conflict
from labkit.learning import own_files, progress
from labkit.learning.katas import Kata
from labkit.ui import answers, author, editions


def question(kata: Kata) -> str:
    """What the lesson asks right before the prediction, as plain text.  Raises: BadKata."""
    text = ""
    for cell in editions.learner(kata).cells:
        if "predict" in cell.metadata.tags:
            break
        if cell.cell_type == "markdown":
            text = cell.source
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def starter(kata: Kata) -> str:
    """The exercise as the learner gets it, a file of its own.  Raises: BadKata."""
    [cell] = [cell for cell in editions.learner(kata).cells if "exercise" in cell.metadata.tags]
    return str(cell.source).rstrip("\n") + "\n"


def write_starter(kata: Kata, workspace: Path) -> bool:
    """Write the exercise where no answer lies yet; whether it did.

    Raises:
        BadKata: the lesson cannot be built.
        Conflict: what lies there is no file.
        ReadOnly, StoreUnwritable: it cannot be written.
    """
    place = progress.answer_place(workspace, kata.slug)
    return own_files.put_new(place, starter(kata).encode())  # an answer is never written over


def reset_answer(kata: Kata, workspace: Path) -> Path | None:
    """Put the exercise back to its start; where the answer that lay there is kept now, None without one.

    Raises:
        BadKata: the lesson cannot be built.
        Conflict: what lies there is no file.
        ReadOnly, StoreUnwritable: it cannot be written; the answer lies there as it was.
    """
    path, text = progress.answer_place(workspace, kata.slug), starter(kata)
    digest = progress.digest_of(path)
    answers.save(text, kata, workspace)
    if digest in (None, hashlib.sha256(text.encode()).hexdigest()):
        return None
    return answers.kept_place(path, str(digest))


def reset_notebook(kata: Kata, workspace: Path) -> Path | None:
    """Put the learner's notebook back to the built one; where the edited one is kept, None without one.

    The copy stands, whole and on disk, before the notebook is touched.

    Raises:
        BadKata: the lesson cannot be built.
        Conflict: it was saved again while it was being copied; nothing was changed.
    """
    path, text = author.learners_place(kata), author.learners_text(kata)
    if not path.exists():
        author.write({path: text})
        return None
    edited = path.read_bytes()
    if edited == text.encode():
        return None
    kept = workspace / "backups" / f"{kata.slug}-{hashlib.sha256(edited).hexdigest()[:12]}.ipynb"
    own_files.put(kept, edited)
    if path.read_bytes() != edited:
        raise Conflict(f"{path.name} was saved meanwhile", "close it in JupyterLab and reset again")
    author.write({path: text})
    return kept
