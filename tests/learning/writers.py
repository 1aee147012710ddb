"""Writers of a store that are killed on their way, or that all write at once: processes, really killed.

What is written is a text of Python: `put_old(folder)` and `put_new(folder)` write what stands before and
what is about to be written, `stands(folder)` gives what is there as JSON, `add(folder, number)` one of many.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

WRITERS = 20
# How a writer dies, with the step from one death to the next: at SQL statement N, by SIGKILL, or, by a
# limit on the size of files, in the middle of the write that would put byte N into one.
DEATHS = {"statement": (1, -signal.SIGKILL), "byte": (331, -signal.SIGXFSZ)}
PRELUDE = "import json, os, resource, signal, sqlite3, sys\nfrom pathlib import Path\n"

# Forks from a process that never opens a store itself: a writer that is killed, and after each death a
# reader, until a writer comes to its end.
KILLED = """
def limit(how, die_at):
    if how == "byte":
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (die_at, die_at))
        return
    count, connect = 0, sqlite3.connect
    def dies(sql):
        nonlocal count
        count += 1
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
    def watched(*arguments, **more):
        db = connect(*arguments, **more)
        db.set_trace_callback(dies)
        return db
    sqlite3.connect = watched

def forked(work):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.write(write, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), json.loads(said) if said else None

how, step, above, is_new = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "new"
found = []
for die_at in range(1, 10**6, step):
    folder = above / str(die_at)
    if not is_new:
        assert forked(lambda: put_old(folder))[0] == 0
    code, _ = forked(lambda: (limit(how, die_at), put_new(folder))[1])
    found.append((code, *forked(lambda: stands(folder))))
    if code == 0:
        break
print(json.dumps(found))
"""
ONE_OF_MANY = """
print("ready", flush=True)
sys.stdin.readline()
add(Path(sys.argv[1]), int(sys.argv[2]))
"""


def require_all_or_nothing(folder: Path, store: str, how: str, is_new: bool, old: Any, new: Any) -> None:
    """Kill a writer in every place; after each death `old` stands whole, or `new` does.

    `is_new`: the store is made by the writer that is killed.
    """
    step, death = DEATHS[how]
    words = [how, str(step), str(folder), "new" if is_new else "old"]
    program = [sys.executable, "-c", PRELUDE + store + KILLED, *words]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stderr

    *deaths, last = json.loads(ran.stdout)
    assert len(deaths) > 10
    assert {code for code, _read, _found in deaths} == {death}
    assert {read for _code, read, _found in deaths} == {0}
    assert all(found in (old, new) for _code, _read, found in deaths)
    assert last == [0, 0, new]


def all_at_once(folder: Path, store: str) -> list[int]:
    """Have many processes add one each at the same time, all ready before any begins; their exit codes."""
    program = [sys.executable, "-c", PRELUDE + store + ONE_OF_MANY, str(folder)]
    children = [
        subprocess.Popen([*program, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(WRITERS)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=60)
    return [child.returncode for child in children]
