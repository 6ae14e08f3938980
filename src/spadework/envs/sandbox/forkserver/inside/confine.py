"""What a fresh interpreter does to itself: every layer but namespaces, which would need a process more."""

from __future__ import annotations

import contextlib
import os

from . import kernel, landlock, namespaces, seccomp, wire


def confine(socket: int, memory: int) -> None:
    """Move ``socket`` to its place and give up all else. Seccomp must hold, the other layers may.

    ``memory`` is in bytes of address space above what is loaded by now.
    """
    null = os.open("/dev/null", os.O_RDWR)
    base = kernel.address_space()
    kernel.take_sockets([socket], null)
    with contextlib.suppress(OSError):
        namespaces.give_up_root()
    namespaces.drop_capabilities()
    if landlock.version() >= 1:
        landlock.restrict()
    kernel.give_up_rights()
    kernel.limit(base + memory, kernel.LIFETIME_CPU)
    kernel.limit_descriptors(wire.SOCKET + 1)
    seccomp.Filter(ask_to_fork=False).install()


def die_with_parent(socket: int, _: int) -> None:
    """All that an unconfined child does where it can."""
    os.dup2(socket, wire.SOCKET)
    kernel.prctl(kernel.PDEATHSIG, kernel.SIGKILL)
