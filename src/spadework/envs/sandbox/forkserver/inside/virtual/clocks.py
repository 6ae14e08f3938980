"""Virtual clocks: ``time`` and ``datetime`` tell the time of the episode."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .patches import patch_type, replace
from .source import SOURCE


def install() -> None:
    """Replace every clock of the modules that are loaded."""
    tick = SOURCE.tick
    clocks: dict[str, Any] = {}
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        clocks |= {name: tick, f"{name}_ns": lambda: int(tick() * 1e9)}
    clocks |= {
        "sleep": SOURCE.sleep,
        "clock_gettime": lambda _: tick(),
        "clock_gettime_ns": lambda _: int(tick() * 1e9),
    }
    clocks |= {name: _from_now(getattr(time, name)) for name in ("localtime", "gmtime", "ctime")}
    asctime, strftime, localtime = time.asctime, time.strftime, clocks["localtime"]
    clocks["asctime"] = lambda *at: asctime(*(at or (localtime(),)))
    clocks["strftime"] = lambda form, *at: strftime(form, *(at or (localtime(),)))
    replace(time, **clocks)
    if "datetime" in sys.modules:
        _install_dates()


def _from_now(function: Callable[[float], Any]) -> Callable[..., Any]:
    """``function`` of a time, which is the virtual one where none is given."""

    def at(seconds: float | None = None) -> Any:
        return function(SOURCE.tick() if seconds is None else seconds)

    return at


def _install_dates() -> None:
    import datetime  # here, since only some interpreters load it

    def now(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
        return cls.fromtimestamp(SOURCE.tick(), tz)

    def utcnow(cls: Any) -> Any:
        return cls.utcfromtimestamp(SOURCE.tick())

    def today(cls: Any) -> Any:
        return cls.fromtimestamp(SOURCE.tick())

    patch_type(datetime.date, today=classmethod(today))
    patch_type(datetime.datetime, now=classmethod(now), utcnow=classmethod(utcnow), today=classmethod(today))
