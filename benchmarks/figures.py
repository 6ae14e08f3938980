"""What every script here prints: figures against their bars, as a table or as a JSON line each."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report."""

    name: str
    value: float
    unit: str
    bar: str = ""
    ok: bool | None = None
    """None where there is no bar."""


def least(name: str, value: float, unit: str, bar: float) -> Figure:
    """A figure that must not be below its bar."""
    return Figure(name, round(value, 4), unit, f">= {bar:g}", value >= bar)


def most(name: str, value: float, unit: str, bar: float) -> Figure:
    """A figure that must not be above its bar."""
    return Figure(name, round(value, 4), unit, f"<= {bar:g}", value <= bar)


def told(name: str, value: float, unit: str) -> Figure:
    """A figure without a bar."""
    return Figure(name, round(value, 4), unit)


def report(description: str | None, measure: Callable[[bool], Iterable[Figure]]) -> int:
    """Parse ``--quick`` and ``--json``, print what ``measure(quick)`` gives as it comes; 1 when a bar was missed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer repeats: under 50 seconds on two cores")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    options = parser.parse_args()
    if not options.json:
        versions = f"Linux {platform.release()}, Python {platform.python_version()}"
        print(f"{platform.machine()}, {os.cpu_count()} cores, {versions}")
    good = True
    for figure in measure(options.quick):
        good &= figure.ok is not False
        if options.json:
            print(json.dumps(asdict(figure)), flush=True)
        else:
            verdict = {True: "ok", False: "MISSED", None: ""}[figure.ok]
            print(f"{figure.name:<52} {figure.value:>10.2f} {figure.unit:<9} {figure.bar:<8} {verdict}", flush=True)
    return 0 if good else 1
