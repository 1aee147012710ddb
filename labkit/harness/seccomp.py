"""System calls that no answer needs, denied for good: what they leave behind outlives the process.

A run that is killed must leave nothing for the next one but its files: no shared memory, no message
queue, no key in a keyring.  Nor may it look into other processes.  The calls fail with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import platform
from collections.abc import Sequence

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2  # <linux/prctl.h>, <linux/seccomp.h>
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # <linux/bpf_common.h>
NUMBER_AT, MACHINE_AT = 0, 4  # in struct seccomp_data
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM
OTHER_TABLE = 0x40000000  # x86-64 has a second table of calls from here on

# shmget semget msgget mq_open add_key request_key keyctl ptrace process_vm_readv process_vm_writev
# perf_event_open bpf userfaultfd io_uring_setup
DENIED = {
    "x86_64": (0xC000003E, (29, 64, 68, 240, 248, 249, 250, 101, 310, 311, 298, 321, 323, 425)),
    "aarch64": (0xC00000B7, (194, 190, 186, 180, 217, 218, 219, 117, 270, 271, 241, 280, 282, 425)),
}


class Instruction(ctypes.Structure):
    """struct sock_filter."""

    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction)))


def filter_of(machine: int, numbers: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """The filter: another machine's calls and these numbers fail, all else is allowed."""
    count = len(numbers)
    return [
        (LOAD, 0, 0, MACHINE_AT),
        (JUMP_IF_EQUAL, 0, count + 3, machine),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_AT_LEAST, count + 1, 0, OTHER_TABLE),
        *((JUMP_IF_EQUAL, count - index, 0, number) for index, number in enumerate(numbers)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, FAIL),
    ]


def deny() -> bool:
    """Deny them to this process and all that it starts, and every gain of rights; whether this kernel can."""
    known = DENIED.get(platform.machine())
    if known is None:
        return False
    prctl = ctypes.CDLL(None).prctl
    words = filter_of(*known)
    instructions = (Instruction * len(words))(*(Instruction(*word) for word in words))
    program = Program(len(words), instructions)
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
