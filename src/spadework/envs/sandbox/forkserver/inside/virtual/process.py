"""Virtual facts of the process and the machine: load, times, names and paths are the same everywhere.

``os`` is no module of the contract, but a program that reaches it must find nothing there that tells one play from
another. Calls by which the sandbox confines itself stay as they are.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from .patches import replace
from .source import SOURCE

_CONSTANTS = {"SC_PAGESIZE": 4096, "SC_PAGE_SIZE": 4096, "SC_CLK_TCK": 100, "SC_NPROCESSORS_ONLN": 1}
_KNOWN = getattr(os, "sysconf_names", {})  # Windows, where only trusted programs run, has none
_NUMBERS = {_KNOWN[name]: value for name, value in _CONSTANTS.items() if name in _KNOWN}


def install() -> None:
    """Replace what ``os``, ``resource`` and ``sys`` tell of this process and its host."""
    replace(
        os,
        getpid=lambda: 2,
        getppid=lambda: 1,
        times=lambda: os.times_result((SOURCE.tick(), 0.0, 0.0, 0.0, SOURCE.now)),
        getloadavg=lambda: (0.0, 0.0, 0.0),
        cpu_count=lambda: 1,
        sched_getaffinity=lambda pid: {0},
        sysconf=_sysconf,
    )
    if hasattr(os, "uname"):
        machine = os.uname().machine
        replace(os, uname=lambda: os.uname_result(("Linux", "sandbox", "", "", machine)))
    if "resource" in sys.modules:
        resource = sys.modules["resource"]
        replace(resource, getrusage=lambda who: resource.struct_rusage([SOURCE.tick(), *[0.0] * 15]))
    if "platform" in sys.modules:
        sys.modules["platform"]._uname_cache = None  # type: ignore[attr-defined]
    sys.orig_argv[:] = [""]  # it holds our own settings, with paths of the host
    sys.executable = ""
    sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = "/usr"


def _sysconf(name: Any) -> int:
    """A setting of the system that every Linux shares, or -1, which means that it is not set."""
    return _CONSTANTS.get(name, -1) if isinstance(name, str) else _NUMBERS.get(name, -1)
