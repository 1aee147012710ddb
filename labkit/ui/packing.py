"""What `lab submit` packs: notebooks, answers and the prediction journal, with the digest of each."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from labkit import __version__
from labkit.errors import BadStore, OutputInUse, ReadOnly, StoreUnwritable, UnknownName
from labkit.grading.submissions import MANIFEST, PREDICTIONS
from labkit.learning import predict

FORMAT = "labkit submission"
SCHEMA_VERSION = 1
WHEN = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can hold: the same work, the same bytes


def pack(notebooks: Path, workspace: Path, out: Path) -> dict[str, str]:
    """Write the archive and return its files with their digests.

    Raises:
        UnknownName: there is nothing to hand in.
        OutputInUse: the archive exists already.
        BadStore: the prediction journal is damaged.
        ReadOnly, StoreUnwritable: it cannot be written.
    """
    files = dict(_files(notebooks, workspace))
    if not any(name.startswith(("answers/", "predictions")) for name in files):
        raise UnknownName(f"{workspace} holds nothing to hand in", "predict and check an exercise first")
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    listed = {
        "format": FORMAT, "schema_version": SCHEMA_VERSION, "labkit": __version__, "files": digests,
    }  # fmt: skip
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted((files | {MANIFEST: json.dumps(listed, indent=1).encode()}).items()):
            archive.writestr(zipfile.ZipInfo(name, WHEN), data, zipfile.ZIP_DEFLATED)
    try:
        with out.open("xb") as file:
            file.write(content.getvalue())
    except FileExistsError:
        raise OutputInUse(f"{out} exists already", "choose another --out; nothing is overwritten") from None
    except PermissionError:
        raise ReadOnly(f"{out.parent} is not yours to write", "choose another --out") from None
    except OSError as error:
        raise StoreUnwritable(f"{out} cannot be written ({error.strerror})", "choose another --out") from None
    return digests


def _files(notebooks: Path, workspace: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(notebooks.glob("k*.ipynb")):
        yield f"notebooks/{path.name}", path.read_bytes()
    for path in sorted((workspace / "answers").glob("*.py")):
        yield f"answers/{path.name}", path.read_bytes()
    if (workspace / predict.FILE).is_file():
        yield PREDICTIONS, whole_copy(workspace / predict.FILE)


def whole_copy(path: Path) -> bytes:
    """A store's bytes as of one moment, also while a notebook writes to it.  Raises: BadStore."""
    with predict.journal(path.parent) as journal:
        journal.all()
    with tempfile.TemporaryDirectory(prefix="lab-submit-") as folder:
        copy = Path(folder) / path.name
        try:
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
        except sqlite3.Error as error:
            raise BadStore(
                f"{path} cannot be copied ({error})", "close the notebooks and try again"
            ) from None
        return copy.read_bytes()
