"""A packet is written once, and shows every later change: by its digests, or by its rows."""

from __future__ import annotations

import copy
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import BadOption, BadPacket, OutputInUse, ReadOnly, StoreUnwritable
from labkit.harness import packets, provenance, registered, studies
from labkit.harness.child import ChildSpec
from labkit.harness.packets import Packet
from labkit.harness.verification import Verification, verify
from labkit.harness.worlds import one_charge, prepare
from labkit.learning.judge import judge

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole() -> Packet:
    """One repetition of the seven."""
    return studies.run_study(studies.INTERVENTIONS, 1, judge)


@pytest.fixture
def packet(whole: Packet) -> Packet:
    """A copy that a test may change."""
    return copy.deepcopy(whole)


def sealed_again(packet: Packet) -> Packet:
    """The packet with every digest made to fit, as a forger would leave it."""
    for record in packet["trials"]:
        for moment in ("interruption", "final"):
            record[moment] = packets.sealed(record[moment]["rows"])
    header = {"format", "schema_version", "shows", "repetitions_mean", "digest", "kind"}
    content = {name: value for name, value in packet.items() if name not in header}
    return packets.seal(packet["kind"], content)


def verified(packet: Packet, folder: Path) -> Verification:
    """What verifying finds in the packet, once it is a file."""
    packets.write_new(folder / "packet.json", packet)
    return verify(folder / "packet.json", judge)


def test_an_untouched_packet_verifies(packet: Packet, tmp_path: Path) -> None:
    assert verified(packet, tmp_path) == Verification("interventions", 7, (), ())


def test_a_budget_packet_verifies_too(tmp_path: Path) -> None:
    budget = studies.run_study(studies.BUDGET, 1, judge)

    assert verified(budget, tmp_path) == Verification("budget", 5, (), ())


def test_a_packet_says_what_it_is_no_evidence_of(packet: Packet) -> None:
    assert packet["deployment_authorized"] is False
    assert "no reliability estimate" in " ".join(packet["repetitions_mean"].split())
    assert "does not show power loss" in packet["shows"]


def test_a_packet_holds_what_the_contract_asks_for(packet: Packet) -> None:
    assert {"platform", "python", "sqlite", "journal_mode"} <= set(packet["environment"])
    for record in packet["trials"]:
        assert {"boundary", "runs", "interruption", "final", "resumed_result", "elapsed_ms"} <= set(record)
        assert record["elapsed_ms"] > 0
        assert all(run["pid"] > 0 and "returncode" in run for run in record["runs"])


def test_a_packet_names_no_folder_of_this_machine(packet: Packet) -> None:
    text = packets.render(packet).decode()

    assert [name for name in (str(ROOT), str(Path.home()), "/dev/shm", "/tmp") if f'"{name}' in text] == []


# --- the file -------------------------------------------------------------------------------


def test_a_packet_is_never_overwritten(packet: Packet, tmp_path: Path) -> None:
    path = tmp_path / "packet.json"
    path.write_bytes(b"evidence")

    with pytest.raises(OutputInUse, match="never overwritten"):
        packets.write_new(path, packet)

    assert path.read_bytes() == b"evidence"


def test_a_packet_is_not_written_through_a_link_to_nowhere(packet: Packet, tmp_path: Path) -> None:
    (tmp_path / "packet.json").symlink_to(tmp_path / "elsewhere.json")

    with pytest.raises(OutputInUse):
        packets.write_new(tmp_path / "packet.json", packet)

    assert not (tmp_path / "elsewhere.json").exists()


def test_a_file_that_appears_while_the_trials_run_is_not_overwritten(
    packet: Packet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The early check is a courtesy; mode x is what protects."""
    path = tmp_path / "packet.json"
    path.write_bytes(b"evidence")
    monkeypatch.setattr(packets, "require_new", lambda _path: None)

    with pytest.raises(OutputInUse):
        packets.write_new(path, packet)

    assert path.read_bytes() == b"evidence"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="is not a folder"):
        packets.require_new(tmp_path / "no" / "packet.json")


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)  # the superuser may write anywhere

    with pytest.raises(ReadOnly):
        packets.require_new(tmp_path / "packet.json")


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """The kernel refuses to let any file of this process grow beyond `size_bytes`, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_no_half_packet(packet: Packet, tmp_path: Path) -> None:
    with files_of_at_most(1000), pytest.raises(StoreUnwritable) as raised:
        packets.write_new(tmp_path / "packet.json", packet)

    assert raised.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    )
)
def test_the_layout_is_json_of_the_same_value(value: Any) -> None:
    assert json.loads(packets.render(value)) == value


# --- changes that the digests show ----------------------------------------------------------


def one_byte_later(data: bytes, place: int) -> bytes:
    """The file with one bit of one byte flipped."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_one_changed_byte_anywhere_in_a_snapshot_is_found(packet: Packet, tmp_path: Path) -> None:
    data, path = packets.render(packet), tmp_path / "packet.json"
    places: list[int] = []
    start = 0
    while (start := data.find(b'"rows": {', start)) > 0:
        end = data.index(b"\n   }", start)  # where the snapshot's own indentation closes
        places += range(start + 10, end, 499)
        start = end
    assert len(places) > 30

    passed = []
    for place in places:
        path.write_bytes(one_byte_later(data, place))
        if verify(path, judge).passed:
            passed.append(place)

    assert passed == []


def replaced(old: str, new: str) -> Callable[[bytes], bytes]:
    """An edit of the file's text."""
    return lambda data: data.replace(old.encode(), new.encode(), 1)


EDITS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "an amount in a row": (replaced('"amount_minor": 4000', '"amount_minor": 4001'), "rows do not fit"),
    "indented anew": (
        lambda data: json.dumps(json.loads(data), indent=4, ensure_ascii=False).encode(),
        "layout",
    ),
    "white space": (replaced('"trials": [', '"trials":  ['), "layout"),
    "a key given twice": (replaced('"kind": ', '"kind": "budget", "kind": '), "layout"),
    "a verdict": (replaced('"name": "duplicate"', '"name": "exactly_one"'), "does not fit its digest"),
    "a count that JSON can hold and RFC 8785 cannot": (
        replaced('"amount_minor": 4000', '"amount_minor": 9007199254740993'),
        "do not fit",
    ),
    "the digest's own name": (replaced('\n "digest": ', '\n "digets": '), "does not fit its digest"),
    "the list of trials lost": (replaced('"trials": ', '"trails": '), "does not fit its digest"),
    "a missing end": (lambda data: data[:-200], "no longer JSON"),
    "a byte that is no text": (lambda data: data[:-50] + b"\xff" + data[-49:], "no longer JSON"),
}


@pytest.mark.parametrize(("edit", "problem"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_found_and_named(
    packet: Packet, tmp_path: Path, edit: Callable[[bytes], bytes], problem: str
) -> None:
    data = packets.render(packet)
    assert edit(data) != data
    (tmp_path / "packet.json").write_bytes(edit(data))

    found = verify(tmp_path / "packet.json", judge)

    assert not found.passed
    assert problem in "; ".join(found.problems)


# --- changes that only the rows show --------------------------------------------------------


def trial(packet: Packet, case: str) -> dict[str, Any]:
    """The trial of one case."""
    return next(record for record in packet["trials"] if record["case"] == case)


def second_payment_hidden(packet: Packet) -> None:
    trial(packet, "mutant_new_key")["final"]["rows"]["payments"]["effects"].pop()


def checkpoint_invented(packet: Packet) -> None:
    final = trial(packet, "revoke_before_effect")["final"]["rows"]
    other = trial(packet, "control")["final"]["rows"]
    final["journal"]["checkpoints"] = other["journal"]["checkpoints"]


def verdict_and_contract_rewritten(packet: Packet) -> None:
    record, other = trial(packet, "mutant_new_key"), trial(packet, "kill_before_checkpoint")
    record["verdicts"], record["contract"] = other["verdicts"], other["contract"]


def totals_rewritten(packet: Packet) -> None:
    packet["totals"]["final_effects"]["mutant_new_key"] = [1]


def never_killed(packet: Packet) -> None:
    trial(packet, "kill_before_effect")["runs"][0]["returncode"] = 0


def trial_dropped(packet: Packet) -> None:
    packet["trials"].pop()


def authority_claimed(packet: Packet) -> None:
    packet["deployment_authorized"] = True


def rows_of_another_shape(packet: Packet) -> None:
    trial(packet, "control")["final"]["rows"]["payments"]["effects"][0].pop("amount_minor")


FORGERIES = {
    second_payment_hidden: "the rows give verdicts",
    checkpoint_invented: "the rows give verdicts",
    verdict_and_contract_rewritten: "the rows give verdicts",
    totals_rewritten: "the totals are not those of the trials",
    never_killed: "the rows give contract",
    trial_dropped: "the trials are not 1 of each of the 7 cases",
    authority_claimed: "no packet authorises a deployment",
    rows_of_another_shape: "trial 1 (control): ",
}


@pytest.mark.parametrize(("forge", "problem"), FORGERIES.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_forger_who_mends_the_digests_is_found_by_the_rows(
    packet: Packet, tmp_path: Path, forge: Callable[[Packet], None], problem: str
) -> None:
    forge(packet)

    found = verified(sealed_again(packet), tmp_path)

    assert not found.passed
    assert problem in "; ".join(found.problems)
    assert "digest" not in "; ".join(found.problems)


def test_sealing_again_changes_nothing_by_itself(packet: Packet, tmp_path: Path) -> None:
    """The forger's tool above is honest: without a forgery its packet verifies."""
    assert verified(sealed_again(packet), tmp_path).passed


def test_a_judge_that_finds_better_words_still_verifies(packet: Packet, tmp_path: Path) -> None:
    for record in packet["trials"]:
        record["verdicts"] = [{**given, "because": "in other words"} for given in record["verdicts"]]

    assert verified(sealed_again(packet), tmp_path).passed


def test_other_sources_today_are_a_note_and_no_fault(packet: Packet, tmp_path: Path) -> None:
    packet["sources_sha256"]["labkit/values.py"] = "0" * 64
    packet["sources_sha256"]["labkit/forgotten.py"] = "0" * 64

    found = verified(sealed_again(packet), tmp_path)

    assert found.passed
    assert "1 of" in found.notes[0]
    assert "labkit/values.py" in found.notes[0]
    assert "labkit/forgotten.py" in found.notes[1]


# --- what is no packet ----------------------------------------------------------------------

NO_PACKETS: dict[str, bytes] = {
    "empty": b"",
    "text": b"hello\n",
    "other JSON": b'{"format": "something else"}\n',
    "a number": b"42",
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("data", NO_PACKETS.values(), ids=NO_PACKETS.keys())
def test_what_is_no_packet_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "packet.json").write_bytes(data)

    with pytest.raises(BadPacket, match="is not an evidence packet"):
        verify(tmp_path / "packet.json", judge)


def test_a_missing_packet_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPacket, match="cannot be read"):
        verify(tmp_path / "packet.json", judge)
    with pytest.raises(BadPacket, match="cannot be read"):
        verify(tmp_path, judge)


def test_a_newer_schema_and_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "newer.json").write_bytes(packets.render({"format": packets.FORMAT, "schema_version": 2}))
    packets.write_new(tmp_path / "other.json", packets.seal("weather", {"trials": []}))
    packets.write_new(tmp_path / "hollow.json", packets.seal("budget", {"trials": []}))

    with pytest.raises(BadPacket, match="schema version 2"):
        verify(tmp_path / "newer.json", judge)
    with pytest.raises(BadPacket, match="unknown kind 'weather'"):
        verify(tmp_path / "other.json", judge)
    with pytest.raises(BadPacket, match="its content is not a packet's"):
        verify(tmp_path / "hollow.json", judge)


# --- where it came from ---------------------------------------------------------------------


def test_every_source_that_a_child_loads_is_in_the_packet(packet: Packet, tmp_path: Path) -> None:
    """The list is read from import lines; this asks the interpreter."""
    spec = ChildSpec(str(prepare(tmp_path / "world", one_charge())), str(registered.REFERENCE), "pay")
    program = (
        "import json, sys; from labkit.harness.child import ChildSpec, run\n"
        "assert run(ChildSpec(**json.loads(sys.argv[1]))) == 0\n"
        "print(json.dumps([m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'labkit']))\n"
    )
    command = [sys.executable, "-c", program, json.dumps(asdict(spec))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)

    loaded = {Path(file).relative_to(ROOT).as_posix() for file in json.loads(done.stdout.splitlines()[-1])}

    assert len(loaded) > 10
    assert loaded - set(packet["sources_sha256"]) == set()
    assert "labkit/harness/workers/mutant_new_key.py" in packet["sources_sha256"]
    assert "labkit/learning/judge.py" in packet["sources_sha256"]
    assert "labkit/stores/ledger.sql" in packet["sources_sha256"]


def test_digests_are_those_of_the_files(packet: Packet) -> None:
    recorded = packet["sources_sha256"]["labkit/stores/ledger.sql"]

    assert recorded == provenance.file_digest(ROOT / "labkit" / "stores" / "ledger.sql")


def test_there_is_no_revision_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.revision(["labkit/values.py"]) is None

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "labkit").mkdir()
    (tmp_path / "labkit" / "__init__.py").touch()
    assert provenance.revision(["labkit/__init__.py"]) is None  # somebody else's repository


def test_the_revision_says_whether_the_sources_were_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    file = tmp_path / "labkit" / "__init__.py"
    file.parent.mkdir()
    file.touch()
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)

    clean = provenance.revision(["labkit/__init__.py"])
    file.write_text("x = 1\n", encoding="utf-8")
    changed = provenance.revision(["labkit/__init__.py"])

    assert clean is not None
    assert changed == {"commit": clean["commit"], "sources_changed_since": True}
    assert clean["sources_changed_since"] is False
