"""Every error of labkit, as one tree.

    LabError
    ├── UsageError                  exit 2   the caller can put it right; nothing was changed
    │   ├── BadAction                        an action file or field that cannot be an order
    │   ├── BadOption                        a command-line value outside its range
    │   ├── UnknownName                      a kata, handler, workflow or approval that does not exist
    │   ├── OutputInUse                      a folder or file that would be overwritten
    │   ├── BadStore                         a store file that is missing, empty, damaged or another's
    │   ├── ReadOnly                         a file or folder that this user may not write
    │   ├── BadPacket                        an evidence file that cannot be read as one
    │   ├── BadHandler                       a handler that cannot be loaded or swept
    │   ├── BadKata                          a kata's folder that lacks a file or a field
    │   ├── BadPrediction                    a prediction that is not whole, or answers what was not asked
    │   ├── ForbiddenMove                    a state change that the transition table does not have
    │   ├── Conflict                         another decision or claim stands already
    │   ├── NotSealed                        a run was asked for before its prediction
    │   └── NotRead                          a check was asked for before its rows were read
    ├── StaleClaim                  exit 1   someone else moved the workflow first
    ├── CodePathChanged             exit 1   the recorded history does not fit today's code
    ├── KnownFailure                exit 1   the provider did nothing, and says so: the call may be repeated
    ├── AmbiguousOutcome            exit 1   the call may have had its effect: read, never retry blindly
    └── InfrastructureError         exit 3   the machine failed; this is never a score
        ├── StoreLocked                      contention outlived the timeout
        ├── StoreUnwritable                  disk full, or an error of the disk
        └── HarnessError                     a child could not be started, killed or reaped

Each class says in `effect` whether the effect that was asked for may have happened:
`no` (certainly not), `maybe` (only its owner knows). `cure` says what to do next.
"""

from __future__ import annotations

from typing import ClassVar, Literal

EffectPossibility = Literal["no", "maybe"]


class LabError(Exception):
    """Base of all errors.  `message` names the thing, `cure` says what to do; both fit on one line."""

    exit_code: ClassVar[int] = 1
    effect: ClassVar[EffectPossibility] = "no"

    def __init__(self, message: str, cure: str = "") -> None:
        self.message = " ".join(message.split())
        self.cure = " ".join(cure.split())
        # Exception.args carries both, so that the error survives pickling.
        super().__init__(self.message, self.cure)

    def __str__(self) -> str:
        return f"{self.message}: {self.cure}" if self.cure else self.message


class UsageError(LabError):
    """The caller asked for something that cannot be; nothing was changed."""

    exit_code = 2


class BadAction(UsageError):
    """An action is not one exact order: a field is missing, unknown, of another type or out of range."""


class BadOption(UsageError):
    """A command-line value is outside its range."""


class UnknownName(UsageError):
    """Nothing of that name exists here."""


class OutputInUse(UsageError):
    """The output exists already, and evidence is never overwritten."""


class BadStore(UsageError):
    """A store file is missing, empty, truncated, of another schema, or not a database."""


class ReadOnly(UsageError):
    """A store, file or folder that would have to be written is read-only for this user."""


class BadPacket(UsageError):
    """An evidence file cannot be read as one."""


class BadHandler(UsageError):
    """A handler cannot be loaded, or does nothing that a sweep could see."""


class BadKata(UsageError):
    """A kata's folder lacks a file or a field, or one of them has a value that cannot be."""


class BadPrediction(UsageError):
    """A prediction lacks an answer, a certainty or a reason, or answers what the kata does not ask."""


class ForbiddenMove(UsageError):
    """A state change that the closed transition table does not have, or without its evidence."""


class Conflict(UsageError):
    """The same identity already stands for another action, approval or decision; the first one stays."""


class NotSealed(UsageError):
    """The run is behind a prediction that has not been sealed yet."""


class NotRead(UsageError):
    """The check is behind a reading of the rows that has not been kept yet."""


class StaleClaim(LabError):
    """The workflow has moved since it was read: another worker claimed it first."""


class CodePathChanged(LabError):
    """The recorded history was written by another code path than the one that would resume it."""


class KnownFailure(LabError):
    """The provider failed before the effect and says so: the same operation may be tried again."""


class AmbiguousOutcome(LabError):
    """The call was sent and no answer came back: the effect may have happened."""

    effect = "maybe"


class InfrastructureError(LabError):
    """The machine failed, not the worker under test; never reported as a score."""

    exit_code = 3


class StoreLocked(InfrastructureError):
    """Another process held the store's write lock for longer than the timeout."""


class StoreUnwritable(InfrastructureError):
    """A store or folder could not be written: disk full, or an error of the disk."""


class HarnessError(InfrastructureError):
    """A child process could not be started, killed or reaped as the harness requires."""
