"""Runs a fresh interpreter for one instance: it loads modules, confines itself and serves.

The fork server must behave as this does, and is measured against it.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from . import wire
from .runner import Runner, serve
from .warm import warm


def main(socket: int, config: dict[str, Any]) -> NoReturn:
    """Load, confine and serve. Never returns: the child ends when the host hangs up or kills it."""
    where = socket
    try:
        confine = _confinement(unsafe=config["unsafe"])
        prelude = warm(config)
        confine(socket, config["memory_mb"] << 20)
        where = wire.SOCKET
        os.write(where, wire.HELLO)
    except BaseException as error:  # noqa: BLE001 - the host is told, whatever it was
        missing = str(error).startswith(wire.MISSING)  # the socket was moved by then
        said = str(error) if missing else traceback.format_exc()
        os.write(wire.SOCKET if missing else where, said.encode()[-4000:])
        os._exit(1)
    sys.argv[:] = [""]
    serve(Runner(prelude, config["bases"]))


def _confinement(*, unsafe: bool) -> Callable[[int, int], object]:
    """Return what confines this process. It is imported now, since a confined process can open no file."""
    if not sys.platform.startswith("linux"):
        return lambda socket, _: os.dup2(socket, wire.SOCKET)
    module = importlib.import_module(".confine", __package__)
    return module.die_with_parent if unsafe else module.confine  # type: ignore[no-any-return]
