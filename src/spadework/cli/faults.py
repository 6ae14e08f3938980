"""What went wrong, summed up by cause, under the table of a verb."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from spadework.errors import cause_lines
from spadework.types import Fault


def print_faults(console: Console, faults: Sequence[Fault]) -> None:
    """Say how many faults there were and by which causes; nothing where there were none."""
    if not faults:
        return
    console.print(f"faults: {len(faults)}, by cause:")
    for line in cause_lines(faults):
        console.print(f"  {line}", soft_wrap=True, markup=False)
