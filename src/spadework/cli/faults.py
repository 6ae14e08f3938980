"""What went wrong, summed up by cause, under the table of a verb."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from spadework.errors import cause_lines


def print_faults(console: Console, counts: Mapping[str, int]) -> None:
    """Say how many faults there were and by which causes (``errors.causes``); nothing where there were none."""
    if not counts:
        return
    console.print(f"faults: {sum(counts.values())}, by cause:")
    for line in cause_lines(counts):
        console.print(f"  {line}", soft_wrap=True, markup=False)
