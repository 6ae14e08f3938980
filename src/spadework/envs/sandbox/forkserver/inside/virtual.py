"""Virtual time and entropy: every clock and source of randomness that Python code reaches is a function of the seed.

What cannot be made so (sets ordered by address) is left to the validator, which runs a program twice and compares.
"""

from __future__ import annotations

import os
import random
import sys
import time
from _blake2 import blake2b  # hashlib's own, without the cryptographic library that hashlib loads
from collections.abc import Callable
from typing import Any

EPOCH = 1_700_000_000.0
TICK = 1e-3
"""Seconds that pass at each look at a clock."""


class Source:
    """The seed, how much entropy was drawn from it, and the time."""

    def __init__(self) -> None:
        self.seed = b""
        self.drawn = 0
        self.now = EPOCH

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes of entropy."""
        out = b""
        while len(out) < count:
            out += blake2b(self.seed + self.drawn.to_bytes(8, "little")).digest()
            self.drawn += 1
        return out[:count]

    def tick(self) -> float:
        """The time, a little later than at the last look."""
        self.now += TICK
        return self.now

    def sleep(self, seconds: float) -> None:
        """Time passes at once."""
        self.now += max(0.0, float(seconds))


SOURCE = Source()
_seed_generator = random.Random.seed


def reseed(seed: int) -> None:
    """Start time and all entropy over, as ``seed`` has it."""
    SOURCE.seed = (seed % (1 << 128)).to_bytes(16, "little")
    SOURCE.drawn, SOURCE.now = 0, EPOCH
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % (1 << 32))


def install() -> None:
    """Replace clocks and entropy for good, of all that is loaded. Call once, before any program is."""
    if "sqlite3" in sys.modules:
        from . import virtual_sql  # here, since it loads sqlite3

        virtual_sql.install(SOURCE.tick, SOURCE.bytes)
    _install_entropy()
    _install_clocks()
    if "datetime" in sys.modules:
        _install_dates()


def _install_entropy() -> None:
    draw = SOURCE.bytes

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        _seed_generator(self, int.from_bytes(draw(16), "little") if a is None else a, version)

    _replace(os, urandom=draw, getrandom=lambda size, flags=0: draw(size), getpid=lambda: 2, getppid=lambda: 1)
    _replace(random, _urandom=draw)
    _replace(random.Random, seed=seed)
    _replace(random, seed=random._inst.seed)
    if "secrets" in sys.modules:
        _replace(sys.modules["secrets"], token_bytes=lambda nbytes=None: draw(32 if nbytes is None else nbytes))
    if "uuid" in sys.modules:
        uuid = sys.modules["uuid"]
        _replace(uuid, getnode=lambda: 1, uuid1=lambda node=None, clock_seq=None: uuid.UUID(bytes=draw(16), version=1))


def _install_clocks() -> None:
    tick = SOURCE.tick
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        _replace(time, **{name: tick, f"{name}_ns": lambda: int(tick() * 1e9)})
    _replace(time, sleep=SOURCE.sleep, clock_gettime=lambda _: tick(), clock_gettime_ns=lambda _: int(tick() * 1e9))
    for name in ("localtime", "gmtime", "ctime"):
        _replace(time, **{name: _defaulting(getattr(time, name))})
    strftime, localtime = time.strftime, time.localtime
    _replace(time, strftime=lambda form, *at: strftime(form, *(at or (localtime(),))))


def _defaulting(function: Callable[[float], Any]) -> Callable[..., Any]:
    def at(seconds: float | None = None) -> Any:
        return function(SOURCE.tick() if seconds is None else seconds)

    return at


def _install_dates() -> None:
    import datetime  # here, since only some interpreters load it

    tick = SOURCE.tick
    real_datetime, real_date = datetime.datetime, datetime.date

    class AlsoReal(type):
        """Dates that arithmetic made are of the real classes: they count as the virtual ones'."""

        def __instancecheck__(cls, instance: object) -> bool:
            if cls is VirtualDatetime:
                return isinstance(instance, real_datetime)
            return isinstance(instance, real_date) if cls is VirtualDate else super().__instancecheck__(instance)

    class VirtualDatetime(datetime.datetime, metaclass=AlsoReal):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(tick(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.utcfromtimestamp(tick())

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(tick())

    class VirtualDate(datetime.date, metaclass=AlsoReal):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(tick())

    for name, virtual in (("datetime", VirtualDatetime), ("date", VirtualDate)):
        virtual.__name__ = virtual.__qualname__ = name
        virtual.__module__ = "datetime"
        _replace(datetime, **{name: virtual})


def _replace(owner: Any, **replacements: Any) -> None:
    for name, value in replacements.items():
        setattr(owner, name, value)
