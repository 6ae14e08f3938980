"""Confines a fresh interpreter by every layer except namespaces, which would need one process more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from . import kernel, landlock, namespaces, seccomp, wire


class LayerMissing(Exception):
    """The kernel does not give a layer without which nothing may run. The socket is at its place by then."""


def confine(socket: int, memory: int) -> None:
    """Move ``socket`` to its place and give up all else.

    Rights, limits and seccomp must hold, or ``LayerMissing`` is raised; a missing Landlock is passed over.

    Args:
        socket: the descriptor that becomes ``wire.SOCKET``.
        memory: bytes of address space above what is loaded by now.
    """
    null = os.open("/dev/null", os.O_RDWR)
    base = kernel.address_space()
    kernel.take_sockets([socket], null)
    with contextlib.suppress(OSError):
        namespaces.give_up_root()
    with _required("no_new_privs"):
        namespaces.drop_capabilities()
    if landlock.version() >= 1:
        landlock.restrict()
    with _required("no_new_privs"):
        kernel.give_up_rights()
    with _required("rlimits"):
        kernel.limit(base + memory, kernel.LIFETIME_CPU)
        kernel.limit_descriptors(wire.SOCKET + 1)
    with _required("seccomp"):  # last, since the filter forbids all of the above
        seccomp.Filter(ask_to_fork=False).install()


@contextlib.contextmanager
def _required(layer: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise LayerMissing(f"{wire.MISSING}{layer}: {error}") from error


def die_with_parent(socket: int, _: int) -> None:
    """Move ``socket`` to its place and end with the parent, where a program runs without confinement."""
    os.dup2(socket, wire.SOCKET)
    kernel.prctl(kernel.PDEATHSIG, kernel.SIGKILL)
