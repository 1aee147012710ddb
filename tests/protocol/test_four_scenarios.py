"""The four results, exactly."""

from __future__ import annotations

import json
import subprocess
import sys

from labkit.protocol.four_scenarios import Approver, Checkpoint, Provider, four_scenarios, recover

EXPECTED = {
    "checkpoint_only_replay": {"effects": 2, "phase": "COMPLETE"},
    "readback_by_stable_id": {"effects": 1, "approval": "consumed", "phase": "COMPLETE"},
    "expired_before_admission": {
        "effects": 0,
        "reason": "approval has expired",
        "phase": "NEEDS_REAUTHORISATION",
    },
    "two_resumers": {"accepted": 1, "rejected": 1},
}


def test_the_four_results_are_these() -> None:
    """As JSON, and nothing beside them."""

    assert json.loads(json.dumps(four_scenarios())) == EXPECTED


def test_it_opens_no_store_and_starts_no_process() -> None:
    """A fresh interpreter that forbids both reads the same."""

    code = (
        "import sys, json\n"
        "from labkit.protocol import four_scenarios\n"
        "def forbid(event, _):\n"
        "    if event.startswith(('sqlite3.', 'subprocess.', 'os.fork', 'os.exec', 'os.posix_spawn', 'socket.')):\n"
        "        raise SystemExit(event)\n"
        "sys.addaudithook(forbid)\n"
        "print(json.dumps(four_scenarios.four_scenarios()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == EXPECTED


def test_the_recovery_in_it_is_not_told_the_result() -> None:
    """In time and not yet admitted, the same function neither completes nor asks for an approval."""

    assert recover(Provider(), Approver(), Checkpoint(), now=1) == "execute"
