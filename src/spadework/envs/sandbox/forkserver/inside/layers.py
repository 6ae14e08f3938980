"""Puts around a zygote the layers that its children inherit, and finds out which of them hold."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable

from . import kernel, landlock, namespaces, seccomp

NO_RANDOM_LAYOUT, CURRENT = 0x0040000, 0xFFFFFFFF
Layers = dict[str, tuple[bool, str]]
"""Name to whether it holds, and what it is or why it is missing."""


def fix_layout() -> tuple[bool, str]:
    """Start over without address randomisation: sets that are ordered by address come out the same every time.

    Gives whether the layout is fixed, and what that means or why it is not; many containers refuse ``personality``.
    """
    personality = kernel.LIBC.personality
    personality.argtypes = [ctypes.c_ulong]
    before = personality(CURRENT)
    if before >= 0 and before & NO_RANDOM_LAYOUT:
        return True, "the same addresses at every start"
    if before >= 0 and personality(NO_RANDOM_LAYOUT) >= 0 and personality(CURRENT) & NO_RANDOM_LAYOUT:
        os.execve(sys.executable, sys.orig_argv, dict(os.environ))
    return False, "personality() is refused: id(), hash() of objects and orders by address change from start to start"


def confine(without: set[str]) -> Layers:
    """Put every layer but those in ``without`` around this process; the caller may come back as a child of itself.

    The order matters. Root is given up first, so that the user namespace maps an ordinary user. Namespaces give the
    capabilities that the mounts need, so capabilities are dropped after them. Landlock is last of those that children
    inherit: it forbids mounting. Seccomp is only tried here, in children: each child installs its own.
    """
    layers: Layers = {"rlimits": (True, "memory, CPU, files, descriptors")}
    _first_to_die()
    layers["unprivileged"] = _unprivileged()
    layers["namespaces"] = (False, "switched off") if "namespaces" in without else _namespaces()
    if layers["namespaces"][0]:
        _become_init()
    namespaces.drop_capabilities()
    layers["no_new_privs"] = (True, "no capability, and no way to gain any")
    layers["landlock"] = (False, "switched off") if "landlock" in without else _landlock()
    layers["seccomp"] = (False, "switched off") if "seccomp" in without else _seccomp(ask_to_fork=False)
    layers["templates"] = (False, "switched off") if "templates" in without else _seccomp(ask_to_fork=True)
    holds, why = _in_a_child(lambda: kernel.prctl(kernel.WRITE_OR_EXECUTE, 1, needed=True))
    layers["write_xor_execute"] = holds, why or "no memory is both writable and executable"
    return layers


def filter_of(layers: Layers, *, ask_to_fork: bool) -> seccomp.Filter | None:
    """Return the filter that children install; None if the kernel does not accept it."""
    return seccomp.Filter(ask_to_fork=ask_to_fork) if layers["templates" if ask_to_fork else "seccomp"][0] else None


def _first_to_die() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def _unprivileged() -> tuple[bool, str]:
    holds, why = _in_a_child(namespaces.give_up_root)
    if holds:
        namespaces.give_up_root()
    return holds, why or f"runs as user {os.getuid()}"


def _namespaces() -> tuple[bool, str]:
    def attempt() -> None:
        namespaces.enter()
        namespaces.empty_root()

    holds, why = _in_a_child(attempt)
    if not holds:
        return False, why
    attempt()
    return True, namespaces.MEMBERS


def _landlock() -> tuple[bool, str]:
    try:
        return True, landlock.restrict()
    except OSError as error:
        return False, str(error)


def _seccomp(*, ask_to_fork: bool) -> tuple[bool, str]:
    if not seccomp.supported():
        return False, f"no table of system calls for {platform.machine()}"
    holds, why = _in_a_child(lambda: seccomp.Filter(ask_to_fork=ask_to_fork).install())
    return holds, why or ("forks on the zygote's word" if ask_to_fork else "an allowlist of system calls")


def _in_a_child(attempt: Callable[[], object]) -> tuple[bool, str]:
    """Try in a child that ends at once: an attempt that fails half-way would leave this process half confined."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - told to the parent
            os.write(writer, str(error).encode()[:500])
            os._exit(1)
    os.close(writer)
    _, status = os.waitpid(pid, 0)
    why = os.read(reader, 500).decode(errors="replace")
    os.close(reader)
    return status == 0, why or ("" if status == 0 else f"status {status}")


def _become_init() -> None:
    """Go on as a child, with which the new process namespace begins, and leave a parent that only waits for it."""
    pid = os.fork()
    if pid:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGKILL))
        os.closerange(3, 1 << 16)
        _, status = os.waitpid(pid, 0)
        os._exit(abs(os.waitstatus_to_exitcode(status)) & 0xFF)
    kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
