"""System calls by which a process confines itself, except those for seccomp, Landlock and namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import select
import signal
from time import clock_gettime  # by name: it is the real one, since virtual time leaves our package alone

# Options of prctl, from linux/prctl.h.
PDEATHSIG, DUMPABLE, BOUNDING_DROP, NO_NEW_PRIVS, WRITE_OR_EXECUTE = 1, 4, 24, 38, 65
SIGKILL = int(signal.SIGKILL)
LIFETIME_CPU = 3600
"""CPU seconds of a child's whole life, held by the kernel in case the host's own deadlines fail."""
LIBC = ctypes.CDLL(None, use_errno=True)
# prctl is variadic: without types ctypes would pass 32-bit integers, and the upper halves of its arguments, which the
# kernel does check, would be whatever the registers held.
LIBC.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def prctl(option: int, value: int, more: int = 0, *, needed: bool = False) -> bool:
    """Set a process attribute and return whether the kernel accepted it.

    Raises ``OSError`` if the attribute is ``needed`` and was refused.
    """
    if LIBC.prctl(option, value, more, 0, 0) == 0:
        return True
    if needed:
        raise failure(f"prctl {option}")
    return False


def failure(what: str) -> OSError:
    """Return the error of the last system call."""
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def address_space() -> int:
    """Return the bytes of this process's address space."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def held() -> int:
    """Return the bytes of this process's memory that no file backs."""
    with open("/proc/self/statm", encoding="ascii") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize()


def protect(start: int, size: int, rights: int) -> None:
    """Change the rights of mapped memory, where the kernel lets us."""
    LIBC.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), rights)


def cpu_clock(pid: int) -> float | None:
    """Return the CPU seconds of a child of ours; None when it is gone or its clock cannot be read."""
    try:
        return clock_gettime((~pid << 3) | 2)  # the kernel's name for another process's CPU clock
    except OSError:
        return None


def is_stopped(pid: int) -> bool:
    """Return whether somebody has stopped a child of ours with SIGSTOP; children cannot do that to each other."""
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def next_dead() -> int | None:
    """Return the process id of a dead child without reaping it (WNOWAIT); None if no child is dead."""
    try:
        dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return dead.si_pid if dead is not None else None


def is_readable(descriptor: int) -> bool:
    """Return whether there is something to read from a descriptor at this moment."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def stand_back() -> None:
    """Let this process and its children never interrupt another that runs.

    The host wakes hundreds of children in a row. Under the usual policy each would take the core from the host at once;
    SCHED_BATCH lets the host finish its round first, which saves two switches a step.
    """
    with contextlib.suppress(OSError):  # it is for speed
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def take_sockets(sockets: list[int], null: int) -> None:
    """Make descriptors 0 to 2 /dev/null, move ``sockets`` to 3 and up, and close all others.

    /dev/null comes first, since its own descriptor may be one of those. The sockets are copied to high numbers before
    they go to their places: a socket that happens to have the number of another's place would be overwritten.
    """
    for standard in range(3):
        os.dup2(null, standard)
    high = [fcntl.fcntl(socket, fcntl.F_DUPFD, 16) for socket in sockets]
    for target, socket in enumerate(high, 3):
        os.dup2(socket, target)
    os.closerange(3 + len(sockets), 1 << 16)


def give_up_rights() -> None:
    """End with the parent, be opaque to others, gain no privilege, and map no memory both writable and executable."""
    prctl(PDEATHSIG, SIGKILL)
    prctl(DUMPABLE, 0)
    prctl(NO_NEW_PRIVS, 1, needed=True)
    prctl(WRITE_OR_EXECUTE, 1)


def limit(memory: int, cpu_seconds: int) -> None:
    """Set hard limits. The host judges CPU time; the limit here holds if the host fails to.

    Args:
        memory: bytes of address space.
        cpu_seconds: CPU seconds of the process's whole life.
    """
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 16),
    ):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))


def limit_descriptors(most: int, pid: int = 0) -> None:
    """Limit open descriptors, apart from the other limits.

    The kernel also compares RLIMIT_NOFILE of a process that sends a descriptor with the number that all processes of
    its user have on their way, so it is set only once a process has none left to send.
    """
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
