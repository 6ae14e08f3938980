"""What the kernel tells the host about a child: who sent a message, what CPU time it used, and how it ended."""

from __future__ import annotations

import array
import contextlib
import os
import resource
import signal
import socket
import struct
import sys
import time

from spadework.envs.sandbox.forkserver.inside import wire
from spadework.errors import FaultError, ProgramError, SandboxError

BROKEN, NO_START, CLOSED, LOST, POOL_MEMORY = "SBX001", "SBX002", "SBX003", "SBX004", "SBX005"
"""Faults of the sandbox: a layer is missing; a child did not start; the host closed it; it was killed or stopped from
outside; the pool ran out of memory."""
STOPPED = "stopped from outside the sandbox, by a signal or a debugger"
CREDENTIALS = struct.Struct("iII")
PAGE = resource.getpagesize()


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used; 0 when it is gone, or where ``cpu_source`` is empty."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for another process's CPU clock
    except (OSError, AttributeError):
        return _cpu_ticks(pid) or 0.0


def cpu_source(pid: int) -> str:
    """Say where ``cpu_seconds`` of a live process comes from; empty if this system does not tell it.

    Some container runtimes refuse clocks of other processes; macOS has none.
    """
    with contextlib.suppress(OSError, AttributeError):
        time.clock_gettime((~pid << 3) | 2)
        return "the kernel's CPU clock of each process"
    return "" if _cpu_ticks(pid) is None else "/proc, in steps of a hundredth of a second"


def _cpu_ticks(pid: int) -> float | None:
    try:
        fields = proc(pid, "stat").rpartition(")")[2].split()  # the name in front may hold blanks and brackets
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def stopped(pid: int) -> bool:
    """Return whether somebody has stopped a process, with SIGSTOP or a debugger. No program can stop itself."""
    try:
        return proc(pid, "stat").rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def proc(pid: int, name: str) -> str:
    """Return the text of a file in a process's ``/proc`` folder. Raises ``OSError`` when it is gone or hidden."""
    file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 1 << 14).decode("ascii", "replace")
    finally:
        os.close(file)


def held_bytes(pid: int) -> int:
    """Return the bytes of resident memory that no file backs, shared or not; 0 when the process is gone."""
    try:
        fields = proc(pid, "statm").split()
        return (int(fields[1]) - int(fields[2])) * PAGE
    except (OSError, ValueError, IndexError):
        return 0


def death(status: int) -> FaultError:
    """Return the fault that an exit status stands for, of a child that was not asked to end."""
    if status == wire.OUT_OF_MEMORY:
        return ProgramError(wire.MEMORY, "out of memory")
    if status >= 0:
        return ProgramError(wire.DIED, f"exited with status {status}")
    if status == -signal.SIGKILL:
        return SandboxError(LOST, "killed from outside the sandbox, or by the kernel for want of memory")
    return ProgramError(wire.DIED, f"died by {signal.Signals(-status).name}")


def hello(sock: socket.socket) -> tuple[bytes, int]:
    """Return the first message of a child and the process id of its sender, which comes from the kernel."""
    try:
        data, ancillary, _, _ = sock.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
    except OSError:
        return b"", 0
    if not sys.platform.startswith("linux"):
        return data, 0
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return data, CREDENTIALS.unpack(content)[0]
    return data, 0


def pass_descriptors(sock: socket.socket, message: bytes, descriptors: list[int]) -> None:
    """Send ``message`` with open descriptors."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    sock.sendmsg([message], rights)
