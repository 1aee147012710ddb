"""Has the stores be links to files that are not its own, and a pipe that nobody writes to."""

import os


def resume(world):
    for name, target in (
        ("journal.sqlite3", "/etc/passwd"),
        ("world.json", "/etc/shadow"),
        ("ledger.sqlite3", "/etc/hostname"),
    ):
        try:
            os.unlink(name)
        except OSError:
            pass
        os.symlink(target, name)
    os.mkfifo("authority.sqlite3")
    return "done"
