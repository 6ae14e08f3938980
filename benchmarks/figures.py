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
    return Figure(name, round(value, 7), unit, f">= {bar:g}", value >= bar)


def most(name: str, value: float, unit: str, bar: float) -> Figure:
    """A figure that must not be above its bar."""
    return Figure(name, round(value, 7), unit, f"<= {bar:g}", value <= bar)


def told(name: str, value: float, unit: str) -> Figure:
    """A figure without a bar."""
    return Figure(name, round(value, 7), unit)


def parser(
    description: str | None, quick: str = "fewer repeats: under 50 seconds on two cores"
) -> argparse.ArgumentParser:
    """The two options that every script takes; a script may add its own."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--json", action="store_true", help="one JSON object a figure")
    return made


def machine() -> str:
    """What the figures were measured on."""
    versions = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {versions}"


def show(figures: Iterable[Figure], as_json: bool) -> bool:
    """Print figures as they come; whether all bars hold."""
    good = True
    for figure in figures:
        good &= figure.ok is not False
        verdict = {True: "ok", False: "MISSED", None: ""}[figure.ok]
        line = f"{figure.name:<56} {figure.value:>12g} {figure.unit:<16} {figure.bar:<10} {verdict}"
        print(json.dumps(asdict(figure)) if as_json else line.rstrip(), flush=True)
    return good


def report(description: str | None, measure: Callable[[bool], Iterable[Figure]]) -> int:
    """Parse the options and print what ``measure(quick)`` gives; 1 when a bar was missed."""
    options = parser(description).parse_args()
    if not options.json:
        print(machine())
    return 0 if show(measure(options.quick), options.json) else 1
