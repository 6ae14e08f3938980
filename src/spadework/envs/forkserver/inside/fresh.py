"""A fresh interpreter for one instance: load, confine, serve. The fork server is measured against it."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, NoReturn

from . import kernel, wire
from .runner import Runner, serve
from .warm import warm

LIFETIME_CPU = 3600


def main(socket: int, config: dict[str, Any]) -> NoReturn:
    """Never returns: the child ends when the host hangs up or kills it."""
    try:
        prelude = warm(config)
        if config["unsafe"]:
            os.dup2(socket, wire.SOCKET)
        else:
            socket = _confine(socket, config["memory_mb"] << 20)
    except BaseException:  # noqa: BLE001 - the host is told, whatever it was
        os.write(socket, traceback.format_exc().encode()[-4000:])
        os._exit(1)
    sys.argv[:] = [""]
    os.write(wire.SOCKET, wire.HELLO)
    serve(Runner(prelude, config["bases"]))


def _confine(socket: int, memory: int) -> int:
    """Every layer but namespaces: they need a process more. Seccomp must hold, Landlock may."""
    from . import landlock, namespaces, seccomp

    null = os.open("/dev/null", os.O_RDWR)
    base = kernel.address_space()
    kernel.take_sockets([socket], null)
    namespaces.give_up_root()
    namespaces.drop_capabilities()
    if landlock.version() >= 1:
        landlock.restrict()
    kernel.give_up_rights()
    kernel.limit(base + memory, LIFETIME_CPU, wire.SOCKET + 1)
    seccomp.Filter(ask_to_fork=False).install()
    return wire.SOCKET
