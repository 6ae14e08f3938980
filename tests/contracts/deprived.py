"""A host that refuses what many containers refuse: ``python deprived.py WHAT...`` and a script on standard input.

The script runs under a system call filter of our own, which zygotes and children inherit.
"""

from __future__ import annotations

import ctypes
import errno
import struct
import subprocess
import sys
from pathlib import Path

NUMBERS = {"x86_64": {"personality": 135, "seccomp": 317, "clocks": 228}, "aarch64": {}}
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
ARGUMENT = 16
NEGATIVE = 0x80000000


def run_deprived(script: str, *refused: str) -> str:
    """Output of ``script`` on a host that refuses ``personality``, ``seccomp`` or ``clocks`` of other processes."""
    command = [sys.executable, str(Path(__file__)), *refused]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _refuse(names: list[str]) -> None:
    machine = __import__("platform").machine()
    program = [(LOAD, 0, 0, 0)]
    for name in names:
        refuse = (RETURN, 0, 0, REFUSE | (errno.EINVAL if name == "clocks" else errno.EPERM))
        if name == "clocks":  # of other processes: their numbers are negative
            program += [
                (EQUAL, 0, 3, NUMBERS[machine][name]),
                (LOAD, 0, 0, ARGUMENT),
                (ANY_BIT, 0, 1, NEGATIVE),
                refuse,
            ]
            program += [(LOAD, 0, 0, 0)]
        else:
            program += [(EQUAL, 0, 1, NUMBERS[machine][name]), refuse]
    program.append((RETURN, 0, 0, ALLOW))
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.addressof(filter_), 0, 0) == 0, ctypes.get_errno()


if __name__ == "__main__":
    text = sys.stdin.read()
    _refuse(sys.argv[1:])
    exec(compile(text, "script", "exec"), {"__name__": "__main__"})
