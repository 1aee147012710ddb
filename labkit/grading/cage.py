"""Starts a sweep's children in a sandbox: the launcher that a graded job names.

The process that uses this is trusted and outside: it clones worlds, decides where to kill, reads the
rows and judges them.  A child gets only the files that are its own to write.  The ledgers stay out here
and are served to it on a socket, so an effect can only come from a real call.
"""

from __future__ import annotations

import array
import json
import os
import resource
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import HarnessError
from labkit.grading.caged import CagedChild, Outset
from labkit.grading.compiling import code_of
from labkit.grading.confinement import Confinement, command_of, first_user_id
from labkit.grading.lent import Lent
from labkit.harness import launchers
from labkit.harness.child import ChildSpec
from labkit.harness.limits import Limits
from labkit.harness.piped import PipedChild, Pipes
from labkit.harness.specs import DESCRIPTION, describe
from labkit.providers.served import LedgerServer

START_S = 20.0  # for a sandbox to be up, on a busy machine
MOST_MEMORY_OUT_HERE = 4 * 1024**3  # rows of a hostile journal are read out here


def launcher(settings: dict[str, Any]) -> Cage:
    """The launcher of a graded job; one sandbox serves all children of this process."""
    return _launcher(json.dumps(settings, sort_keys=True))


@cache
def _launcher(settings: str) -> Cage:
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_OUT_HERE, MOST_MEMORY_OUT_HERE))
    return Cage(Confinement(**json.loads(settings)))


class Cage:
    """A sandbox with its folders: `worlds` that children write, `code` and `served` that they only read."""

    def __init__(self, confinement: Confinement) -> None:
        self.confinement = confinement
        self.home = Path(tempfile.mkdtemp(prefix="cage-", dir=confinement.home))
        self.user_id = first_user_id() if os.getuid() == 0 else None
        if self.user_id is not None:  # an answer in another sandbox may learn the name, and gets no further
            os.chown(self.home, -1, self.user_id)
        self.home.chmod(0o710)
        for name in ("worlds", "code", "served"):
            (self.home / name).mkdir(mode=0o755)
            (self.home / name).chmod(0o755)
        self._zygote: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lent: dict[Path, Lent] = {}
        self._handed: dict[str, tuple[bytes, bytes]] = {}  # a file's text and its code
        self._number = 0

    def start(self, spec: ChildSpec) -> PipedChild:
        """Start one child.  Raises: HarnessError."""
        folder = Path(spec.folder)
        lent = self._lent.get(folder) or self._lend(folder)
        lent.users += 1
        server = None
        if self.confinement.ledger == "outside":
            ledgers = {one["name"]: folder / one["file"] for one in describe(folder)["ledgers"]}
            address = lent.served / str(spec.run_number)
            server = LedgerServer(address, ledgers, spec.now_ms, lent.look)
            address.chmod(0o666)
        handler, code = self._handler(Path(spec.file))
        inside = replace(spec, folder=str(lent.inside), file=str(handler))
        outset = Outset.of(server)
        pipes = Pipes.open()
        ours, theirs = socket.socketpair()
        try:
            self._order(inside, code, (*pipes.childs, theirs.fileno()))
        finally:
            theirs.close()
        return CagedChild(spec, pipes, ours, lent, outset)

    def _lend(self, folder: Path) -> Lent:
        """Give a world's files, all but the ledgers, to the sandbox for the length of a run."""
        self._number += 1
        description = (folder / DESCRIPTION).read_bytes()
        kept = {DESCRIPTION}
        if self.confinement.ledger == "outside":
            kept |= {one["file"] for one in json.loads(description)["ledgers"]}
        inside = self.home / "worlds" / str(self._number)
        served = self.home / "served" / str(self._number)
        for new in (inside, served):
            new.mkdir(mode=0o755)
            new.chmod(0o755)
        for path in list(folder.iterdir()):
            if not any(path.name == name or path.name.startswith(f"{name}-") for name in kept):
                path.rename(inside / path.name)
        shown = json.loads(description)
        if self.confinement.ledger == "outside":
            shown["served_at"] = str(served)
        (inside / DESCRIPTION).write_text(json.dumps(shown), encoding="utf-8")
        for path in (inside, *inside.iterdir()):
            if self.user_id is not None:
                os.chown(path, self.user_id, self.user_id)
        # A rival writes beside the run, when it likes: then nobody can say what the files should look like.
        self._lent[folder] = Lent(
            folder, inside, served, frozenset(kept), lambda: self._lent.pop(folder), shown["rival"] is None,
            account=self.confinement.account,
        )  # fmt: skip
        return self._lent[folder]

    def _handler(self, file: Path) -> tuple[Path, bytes]:
        """The handler's file where the sandbox can read it, never another's beside it, and its code.

        The same text is compiled once, since what fails may have cost a second.
        """
        target = self.home / "code" / file.name
        text = file.read_bytes()
        if not target.is_file() or target.read_bytes() != text or len(list(target.parent.iterdir())) > 1:
            for old in target.parent.iterdir():
                old.unlink()
            target.write_bytes(text)
            target.chmod(0o644)
        if self._handed.get(file.name, (b"", b""))[0] != text:
            self._handed[file.name] = (text, code_of(target))
        return target, self._handed[file.name][1]

    def _order(self, spec: ChildSpec, code: bytes, fds: tuple[int, ...]) -> None:
        """Hand an order to the sandbox, which is started where it is not up (any more)."""
        order = json.dumps(asdict(spec)).encode()
        head = len(order).to_bytes(4, "little") + len(code).to_bytes(4, "little")
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        for _ in range(2):
            zygote = self._zygote or self._started()
            try:
                zygote.sendmsg([head], ancillary)
                zygote.sendall(order + code)
                return
            except OSError:
                self.close()
        raise HarnessError(
            "the sandbox does not take orders", "see `lab doctor`, or choose another --sandbox"
        )

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        limits = Limits(**self.confinement.limits)
        limits = replace(limits, user_id=self.user_id)
        unreadable = self.confinement.level == "rlimits"  # bubblewrap shows the interpreter to everybody
        settings = {"fd": theirs.fileno(), "limits": asdict(limits), "may_be_unreadable": unreadable}
        try:
            self._process = subprocess.Popen(
                command_of(self.confinement, self.home, settings), stdin=subprocess.DEVNULL, env={},
                pass_fds=(theirs.fileno(),), start_new_session=True, cwd="/",
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise HarnessError(f"no sandbox could be started ({error})", "see `lab doctor`") from error
        finally:
            theirs.close()
        launchers.SANDBOXES.add(self._process.pid)
        ours.settimeout(START_S)
        self._zygote = ours
        return ours

    def close(self) -> None:
        """End the sandbox and all that is in it."""
        if self._zygote is not None:
            self._zygote.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            launchers.SANDBOXES.discard(self._process.pid)
        self._zygote = self._process = None

    def remove(self) -> None:
        """End it, and take its folders away."""
        self.close()
        shutil.rmtree(self.home, ignore_errors=True)
