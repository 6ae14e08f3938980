"""The system call filter: an allowlist in classic BPF, assembled here.

The kernel runs a new filter for every call number once, to see which it always allows: depth, not length, is what
installing costs, so the numbers are found by binary search.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
from itertools import pairwise

from . import kernel
from .syscalls import MACHINES, tables

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, ASK, KILL = 0x7FFF0000, 0x7FC00000, 0x80000000
X32 = 0x40000000
LOAD, EQUAL, AT_LEAST, ANY_BIT, JUMP, RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16
PROT_EXEC, MAP_SHARED, F_GETFD, F_GETFL = 4, 1, 1, 3
FAR = 255
"""The longest conditional jump."""
SET_MODE_FILTER, NEW_LISTENER = 1, 8

Code = tuple[tuple[int, int, int, int], ...]
"""Instructions: operation, jump if true, jump if false, operand."""


def refuse(number: int) -> int:
    """Return the verdict that makes a call fail with the error ``number``."""
    return 0x00050000 | number


def build(machine: str, *, ask_to_fork: bool) -> bytes:
    """The filter for ``machine``.

    Args:
        machine: as ``platform.machine()`` has it, one of ``MACHINES``.
        ask_to_fork: whether ``clone`` asks the listener (templates) or is refused.
    """
    segments = _segments(_verdicts(machine, ask_to_fork))
    head: Code = ((LOAD, 0, 0, ARCH_AT), (EQUAL, 1, 0, AUDIT_ARCH[machine]), _return(KILL), (LOAD, 0, 0, NUMBER_AT))
    if machine == "x86_64":
        head += ((AT_LEAST, 0, 1, X32), _return(KILL))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in head + _search(segments))


class Filter:
    """A filter ready to be installed: assembled once, in the zygote."""

    def __init__(self, *, ask_to_fork: bool) -> None:
        code = build(platform.machine(), ask_to_fork=ask_to_fork)
        self._listens = ask_to_fork
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(self._code))

    def install(self) -> int:
        """Put this process under the filter; gives the listener's descriptor if the filter asks, else -1.

        Raises ``OSError`` if the kernel does not take it.
        """
        number = tables(platform.machine())["fatal"]["seccomp"]
        descriptor = kernel.LIBC.syscall(number, SET_MODE_FILTER, NEW_LISTENER if self._listens else 0, self._program)
        if descriptor < 0:
            raise kernel.failure("seccomp")
        return int(descriptor) if self._listens else -1


def supported() -> bool:
    """Return whether there is a table of system calls for this machine."""
    return platform.machine() in MACHINES and os.name == "posix"


def _return(verdict: int) -> tuple[int, int, int, int]:
    return (RETURN, 0, 0, verdict)


def _argument(index: int, *, high: bool = False) -> tuple[int, int, int, int]:
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * index + 4 * high)


def _verdicts(machine: str, ask_to_fork: bool) -> dict[int, Code]:
    """Return the code that decides about each call number."""
    kinds = tables(machine)
    simple = {
        "allowed": ALLOW,
        "eacces": refuse(errno.EACCES),
        "enotty": refuse(errno.ENOTTY),
        "enosys": refuse(errno.ENOSYS),
        "fatal": KILL,
    }
    verdicts: dict[int, Code] = {
        number: (_return(verdict),) for kind, verdict in simple.items() for number in kinds[kind].values()
    }
    conditional = _conditional(ask_to_fork)
    return verdicts | {number: conditional[name] for name, number in kinds["conditional"].items()}


def _conditional(ask_to_fork: bool) -> dict[str, Code]:
    no, yes = _return(refuse(errno.EPERM)), _return(ALLOW)
    private_data: Code = (_argument(2), (ANY_BIT, 3, 0, PROT_EXEC), _argument(3), (ANY_BIT, 1, 0, MAP_SHARED), yes, no)
    no_execution: Code = (_argument(2), (ANY_BIT, 1, 0, PROT_EXEC), yes, no)
    read_flags: Code = (_argument(1), (EQUAL, 1, 0, F_GETFD), (EQUAL, 0, 1, F_GETFL), yes, no)
    die_with_parent: Code = (
        *(_argument(0), (EQUAL, 0, 3, kernel.PDEATHSIG), _argument(1), (EQUAL, 0, 1, signal.SIGKILL)),
        *(yes, no),
    )
    own_limits: Code = (  # of process 0, which is oneself, and with no new limit
        *(_argument(0), (EQUAL, 0, 5, 0), _argument(2), (EQUAL, 0, 3, 0), _argument(2, high=True), (EQUAL, 0, 1, 0)),
        *(yes, no),
    )
    return {
        "mmap": private_data,
        "mprotect": no_execution,
        "fcntl": read_flags,
        "prctl": die_with_parent,
        "prlimit64": own_limits,
        "clone": (_return(ASK) if ask_to_fork else no,),
    }


def _segments(verdicts: dict[int, Code]) -> list[tuple[int, Code]]:
    """Split all numbers into runs that share one verdict; gives where each run starts, and its code."""
    default: Code = (_return(refuse(errno.EPERM)),)
    edges = sorted({0, *verdicts, *(number + 1 for number in verdicts)})
    segments = [(edge, verdicts.get(edge, default)) for edge in edges]
    return segments[:1] + [after for before, after in pairwise(segments) if after[1] != before[1]]


def _search(segments: list[tuple[int, Code]]) -> Code:
    if len(segments) == 1:
        return segments[0][1]
    middle = len(segments) // 2
    below, above = _search(segments[:middle]), _search(segments[middle:])
    start = segments[middle][0]
    if len(below) <= FAR:
        return ((AT_LEAST, len(below), 0, start), *below, *above)
    return ((AT_LEAST, 0, 1, start), (JUMP, 0, 0, len(below)), *below, *above)
