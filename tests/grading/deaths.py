"""A grader that dies at a call: SIGKILL as soon as a function is called for the n-th time.

Run as a program it has imported all that `lab grade` works with.  For each line of JSON on stdin, `[words,
function, file, n]`, a copy of it is the grader; its exit code, or minus the signal that ended it, is
the line that is printed.  Without a function the grader lives.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from types import FrameType
from typing import Any


def die_at(function: str, file: str, count: int) -> None:
    """Have this process killed where it calls a function of a file for the `count`-th time."""
    left = count

    def look(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal left
        code = frame.f_code
        if event == "call" and code.co_name == function and code.co_filename.endswith(file):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(look)


def main() -> None:
    """Grade as often as asked to, each time in a process of its own."""
    from labkit.grading import classroom, grid, judging  # noqa: F401
    from labkit.ui import class_page, cli, commands_grade  # noqa: F401

    for line in sys.stdin:
        words, function, file, count = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if function:
                die_at(function, file, count)
            os._exit(cli.main(words))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
