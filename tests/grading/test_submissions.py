"""Hand-ins as they come: every public fault report about reading them is a test here."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import BadOption, UnknownName
from labkit.grading import archives, submissions
from labkit.grading.submissions import Submission
from labkit.learning import katas
from labkit.learning.katas import Kata

ROOT = Path(__file__).parents[2]
SLUG = "k03_missing_ack"
ANSWER = "def resume(world):\n    return world.operation().operation_id\n"
Notebook = dict[str, Any]


@pytest.fixture(scope="module")
def chosen() -> list[Kata]:
    return [katas.load(ROOT / "katas" / SLUG)]


@pytest.fixture
def hand_in(tmp_path: Path) -> Path:
    """The folder of a class."""
    (tmp_path / "class").mkdir()
    return tmp_path / "class"


def notebook(answer: str | None = ANSWER) -> Notebook:
    """The learner's notebook as handed out, its exercise answered."""
    found: Notebook = json.loads((ROOT / "notebooks" / f"{SLUG}.ipynb").read_text(encoding="utf-8"))
    if answer is not None:
        exercise(found)["source"] = answer
    return found


def exercise(found: Notebook) -> dict[str, Any]:
    return next(cell for cell in found["cells"] if cell["id"] == "k03-missing-ack-exercise")


def put(folder: Path, learner: str, found: Notebook | bytes, name: str = f"{SLUG}.ipynb") -> None:
    path = folder / learner / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(found if isinstance(found, bytes) else json.dumps(found).encode())


def only(folder: Path, chosen: list[Kata]) -> Submission:
    [one] = submissions.read_class(folder, chosen)
    return one


def without_ids(found: Notebook) -> None:
    for cell in found["cells"]:
        del cell["id"]


def null_ids(found: Notebook) -> None:
    for cell in found["cells"]:
        cell["id"] = None


def double_ids(found: Notebook) -> None:
    for cell in found["cells"]:
        cell["id"] = "k03-missing-ack-exercise"


def no_metadata(found: Notebook) -> None:
    found["metadata"] = {}
    for cell in found["cells"]:
        del cell["id"]
        cell["metadata"] = {}


def odd_kernel(found: Notebook) -> None:
    found["metadata"]["kernelspec"] = {"name": "no such kernel", "display_name": 7}


def source_in_lines(found: Notebook) -> None:
    exercise(found)["source"] = ANSWER.splitlines(keepends=True)


def broken_cells(found: Notebook) -> None:
    found["cells"] += [None, 7, {"cell_type": "code"}, {"source": [1, None], "metadata": []}]


def stale_outputs(found: Notebook) -> None:
    exercise(found)["outputs"] = [{"output_type": "stream", "text": "def resume(world): return 'forged'"}]


def rebound(found: Notebook) -> None:
    found["cells"].append(
        {
            "cell_type": "code",
            "metadata": {},
            "source": "resume = print\nimport sqlite3\nsqlite3.connect = None",
        }
    )


DAMAGE: dict[str, Callable[[Notebook], None]] = {
    "ids missing": without_ids,
    "ids null": null_ids,
    "ids double": double_ids,
    "all metadata gone": no_metadata,
    "odd kernelspec": odd_kernel,
    "source in lines": source_in_lines,
    "broken cells beside it": broken_cells,
    "outputs say otherwise": stale_outputs,
    "names rebound by a later cell": rebound,
}


@pytest.mark.parametrize("minor", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("spoil", DAMAGE.values(), ids=DAMAGE)
def test_the_exercise_is_found_whatever_happened_to_the_notebook(
    hand_in: Path, chosen: list[Kata], spoil: Callable[[Notebook], None], minor: int
) -> None:
    found = notebook()
    spoil(found)
    found["nbformat_minor"] = minor
    put(hand_in, "alice", found)

    one = only(hand_in, chosen)

    assert (one.found[SLUG].source, one.found[SLUG].outcome) == (ANSWER, "judged")


def test_an_id_comes_before_a_tag_and_a_tag_before_a_marker(hand_in: Path, chosen: list[Kata]) -> None:
    by_id, by_tag, by_marker = ("def resume(world): return " + name for name in ("'id'", "'tag'", "'marker'"))
    found = notebook(by_id)
    exercise(found)["metadata"]["tags"] = []
    found["cells"] += [
        {"cell_type": "code", "id": "a", "metadata": {"tags": ["exercise"]}, "source": by_tag},
        {"cell_type": "code", "id": "b", "metadata": {}, "source": by_marker},
    ]
    sources = []
    for _ in range(3):
        put(hand_in, "alice", found)
        one = only(hand_in, chosen).found[SLUG]
        sources.append(one.source)
        found["cells"] = [cell for cell in found["cells"] if cell["source"] != one.source]

    assert sources == [by_id, by_tag, by_marker]


def test_of_a_copied_cell_the_last_counts_and_both_are_named(hand_in: Path, chosen: list[Kata]) -> None:
    found = notebook("def resume(world): return 'old'")
    number = found["cells"].index(exercise(found)) + 1
    found["cells"].append({**exercise(found), "source": ANSWER})
    put(hand_in, "alice", found)

    one = only(hand_in, chosen).found[SLUG]

    last = len(found["cells"])
    assert one.source == ANSWER
    assert one.notes == (f"cells {number} and {last} could be the exercise; cell {last} counts",)


def test_a_split_cell_counts_where_its_function_is(hand_in: Path, chosen: list[Kata]) -> None:
    found = notebook("from labkit.kata import *")
    found["cells"].append({"cell_type": "code", "metadata": {}, "source": ANSWER})
    put(hand_in, "alice", found)

    assert only(hand_in, chosen).found[SLUG].source == ANSWER


def deleted(found: Notebook) -> None:
    found["cells"].remove(exercise(found))


def made_prose(found: Notebook) -> None:
    exercise(found)["cell_type"] = "markdown"


def emptied(found: Notebook) -> None:
    exercise(found)["source"] = "  \n"


def untouched(found: Notebook) -> None:
    exercise(found)["source"] = exercise(notebook(None))["source"]


def no_python(found: Notebook) -> None:
    exercise(found)["source"] = "def resume(world):\nreturn 1"


def null_byte(found: Notebook) -> None:
    exercise(found)["source"] = ANSWER + "\0"


def surrogate(found: Notebook) -> None:
    exercise(found)["source"] = ANSWER + "x = '\ud800'"


def huge(found: Notebook) -> None:
    exercise(found)["source"] = ANSWER + "#" * 300_000


def deep(found: Notebook) -> None:
    exercise(found)["source"] = ANSWER + "x = " + "(" * 50_000


SHORT = {
    "deleted": (deleted, "not_attempted"),
    "made prose": (made_prose, "tampered"),
    "emptied": (emptied, "not_attempted"),
    "as handed out": (untouched, "not_attempted"),
    "no Python": (no_python, "malformed"),
    "a null byte": (null_byte, "malformed"),
    "half a character": (surrogate, "malformed"),
    "huge": (huge, "malformed"),
    "nested too deep": (deep, "malformed"),
}


@pytest.mark.parametrize(("spoil", "outcome"), SHORT.values(), ids=SHORT)
def test_what_cannot_be_judged_says_why(
    hand_in: Path, chosen: list[Kata], spoil: Callable[[Notebook], None], outcome: str
) -> None:
    found = notebook()
    spoil(found)
    put(hand_in, "alice", found)

    one = only(hand_in, chosen).found[SLUG]

    assert (one.source, one.outcome) == (None, outcome)
    assert one.why


BROKEN = {
    "no JSON": b"{",
    "a list": b"[]",
    "empty": b"",
    "deep JSON": b"[" * 100_000,
    "format 3": b'{"nbformat": 3, "worksheets": []}',
    "no cells": b'{"nbformat": 4}',
    "no UTF-8": b"\xff\xfe{",
    "a pickle": b"cos\nsystem\n(S'touch /tmp/owned'\ntR.",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_notebook_is_a_row_and_no_crash(hand_in: Path, chosen: list[Kata], content: bytes) -> None:
    put(hand_in, "alice", content)
    put(hand_in, "bob", notebook())

    alice, bob = submissions.read_class(hand_in, chosen)

    assert (alice.found[SLUG].outcome, bob.found[SLUG].outcome) == ("malformed", "judged")
    assert SLUG in alice.found[SLUG].why


NAMES = ["a,b", 'say "hi"', "x\ny", "=cmd|' C calc'!A0", "(1) [2] + 3", "Zoë", "-1", "@home", "日本"]


def test_as_many_are_reported_as_were_handed_in(hand_in: Path, chosen: list[Kata]) -> None:
    """Whatever they are called, and though all of them call their file the same."""
    for name in NAMES:
        put(hand_in, name, notebook(), "kata.ipynb")
    (hand_in / ".DS_Store").write_bytes(b"")
    (hand_in / "loose.ipynb").write_bytes(json.dumps(notebook()).encode())
    (hand_in / "readme.txt").write_text("hello", encoding="utf-8")
    (hand_in / "nothing").mkdir()
    (hand_in / "linked").symlink_to("/etc")

    found = submissions.read_class(hand_in, chosen)

    assert sorted(one.learner for one in found) == sorted([*NAMES, "loose", "readme", "nothing", "linked"])
    outcomes = {one.learner: one.found[SLUG].outcome for one in found}
    assert {outcomes[name] for name in (*NAMES, "loose")} == {"judged"}
    assert (outcomes["nothing"], outcomes["readme"]) == ("not_attempted", "not_attempted")
    assert outcomes["linked"] == "malformed"


def test_a_name_that_is_no_utf8_still_has_its_row(hand_in: Path, chosen: list[Kata]) -> None:
    (hand_in / os.fsdecode(b"caf\xe9")).mkdir()

    assert only(hand_in, chosen).learner == "caf\\udce9"


def test_a_folder_and_an_archive_of_one_name_are_two(hand_in: Path, chosen: list[Kata]) -> None:
    put(hand_in, "alice", notebook())
    (hand_in / "alice.zip").write_bytes(zipped({f"{SLUG}.ipynb": json.dumps(notebook()).encode()}))

    assert [one.learner for one in submissions.read_class(hand_in, chosen)] == ["alice", "alice.zip"]


def test_answer_files_count_where_no_notebook_has_one(hand_in: Path, chosen: list[Kata]) -> None:
    put(hand_in, "alice", ANSWER.encode(), f"answers/{SLUG}.py")
    put(hand_in, "bob", b"\xef\xbb\xbf" + ANSWER.encode(), "k03.py")
    put(hand_in, "carol", b"\xe9 = 1", "k03.py")

    alice, bob, carol = submissions.read_class(hand_in, chosen)

    assert (alice.found[SLUG].source, bob.found[SLUG].source) == (ANSWER, ANSWER)
    assert carol.found[SLUG].outcome == "malformed"


def test_two_answers_that_differ_are_named(hand_in: Path, chosen: list[Kata]) -> None:
    put(hand_in, "alice", notebook())
    put(hand_in, "alice", b"def resume(world): return 1\n", f"answers/{SLUG}.py")

    one = only(hand_in, chosen).found[SLUG]

    assert one.source == ANSWER
    assert one.notes == (f"2 files hold answers that differ; {SLUG}.ipynb counts",)


def test_links_in_a_hand_in_are_not_followed(hand_in: Path, chosen: list[Kata], tmp_path: Path) -> None:
    (tmp_path / "secret.ipynb").write_bytes(json.dumps(notebook()).encode())
    (hand_in / "alice").mkdir()
    (hand_in / "alice" / f"{SLUG}.ipynb").symlink_to(tmp_path / "secret.ipynb")
    os.mkfifo(hand_in / "alice" / "k03.py")

    one = only(hand_in, chosen)

    assert one.found[SLUG].outcome == "not_attempted"
    assert len(one.notes) == 2


def zipped(members: dict[str, bytes], mode: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def lying() -> bytes:
    """A member whose header says that it is small."""
    content = bytearray(zipped({"k03.py": b"#" * (archives.MOST_FILE_BYTES + 1)}))
    size = (archives.MOST_FILE_BYTES + 1).to_bytes(4, "little")
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = (10).to_bytes(4, "little")
    return bytes(content)


ARCHIVES = {
    "absolute": zipped({"/etc/k03.py": b"x"}),
    "a drive": zipped({"C:/k03.py": b"x"}),
    "upward": zipped({"a/../../k03.py": b"x"}),
    "upward by backslash": zipped({"a\\..\\..\\k03.py": b"x"}),
    "a link": zipped({"k03.py": b"/etc/passwd"}, stat.S_IFLNK | 0o777),
    "a bomb": zipped({"k03.py": b"#" * (archives.MOST_FILE_BYTES + 1)}),
    "a lying bomb": lying(),
    "many small ones": zipped({f"{n}.txt": b"" for n in range(archives.MOST_FILES + 1)}),
    "damaged": zipped({"k03.py": b"x = 1" * 50})[:-30],
    "no zip": b"PK\x03\x04 and nothing",
    "empty": b"",
}


@pytest.mark.parametrize("content", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_that_cannot_be_trusted_is_refused_whole(
    hand_in: Path, chosen: list[Kata], content: bytes
) -> None:
    (hand_in / "alice.zip").write_bytes(content)
    put(hand_in, "bob", notebook())
    before = sorted(hand_in.parent.rglob("*"))

    alice, bob = submissions.read_class(hand_in, chosen)

    assert (alice.found[SLUG].outcome, bob.found[SLUG].outcome) == ("malformed", "judged")
    assert alice.found[SLUG].why.startswith("alice.zip")
    assert sorted(hand_in.parent.rglob("*")) == before


def test_a_plain_archive_is_read_and_its_list_is_checked(hand_in: Path, chosen: list[Kata]) -> None:
    digest = "0" * 64
    listed = json.dumps({"files": {"answers/k03_missing_ack.py": digest}}).encode()
    (hand_in / "alice.zip").write_bytes(
        zipped({"answers/k03_missing_ack.py": ANSWER.encode(), "submission.json": listed})
    )

    one = only(hand_in, chosen)

    assert one.found[SLUG].source == ANSWER
    assert one.notes == ("answers/k03_missing_ack.py is not what was packed: its digest differs",)


def test_a_class_that_is_not_there_or_empty_is_wrong_use(tmp_path: Path, chosen: list[Kata]) -> None:
    with pytest.raises(UnknownName, match="is no folder"):
        submissions.read_class(tmp_path / "none", chosen)
    with pytest.raises(BadOption, match="is empty"):
        submissions.read_class(tmp_path, chosen)


def test_reading_changes_nothing(hand_in: Path, chosen: list[Kata], tmp_path: Path) -> None:
    put(hand_in, "alice", notebook())
    shutil.copytree(hand_in, tmp_path / "copy")

    submissions.read_class(hand_in, chosen)

    names = [path.relative_to(hand_in) for path in hand_in.rglob("*") if path.is_file()]
    assert all((hand_in / name).read_bytes() == (tmp_path / "copy" / name).read_bytes() for name in names)
