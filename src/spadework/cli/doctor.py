"""``spadework doctor``: which layers of the sandbox hold on this machine, what is missing, and why."""

from __future__ import annotations

import argparse
import asyncio
import json

from rich.console import Console
from rich.table import Table

from spadework.envs.sandbox.forkserver.client import probe
from spadework.envs.sandbox.forkserver.support import LAYERS, LEAST
from spadework.errors import ConfigError, SandboxError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("--json", action="store_true", help="machine-readable")


def run(args: argparse.Namespace) -> int:
    """Run the verb: status 0 when the layers that a run requires by default hold, else 1."""
    try:
        layers = asyncio.run(probe())
    except SandboxError as error:
        raise ConfigError(error.fault.message) from error
    if args.json:
        rows = {name: {"holds": holds, "why": why, "required": name in LEAST} for name, (holds, why) in layers.items()}
        print(json.dumps(rows, indent=2))
    else:
        _show(layers)
    return 0 if all(layers[name][0] for name in LEAST) else 1


def _show(layers: dict[str, tuple[bool, str]]) -> None:
    table = Table(title="layers of the sandbox", title_justify="left")
    for column in ("layer", "holds", "what it is", "here"):
        table.add_column(column)
    for name, (holds, why) in layers.items():
        mark = "[green]yes[/]" if holds else "[red]no[/]"
        table.add_row(f"{name}{' (required)' if name in LEAST else ''}", mark, LAYERS.get(name, ""), why)
    Console().print(table)
