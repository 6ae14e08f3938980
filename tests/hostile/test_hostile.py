"""No hostile program does harm, in four modes; a mode that the host cannot give is skipped with the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver import MODES
from programs import ALL

HERE = Path(__file__).parent
NAMES = [hostile.name for hostile in ALL]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is made of Linux's own")


def test_there_are_enough_and_each_has_a_name() -> None:
    assert len(ALL) >= 60
    assert len(set(NAMES)) == len(NAMES)


@pytest.fixture(scope="module")
def results() -> Iterator[dict[str, dict[str, Any]]]:
    """Mode to program to what came of it; two modes are played at a time."""
    command = [sys.executable, str(HERE / "driver.py")]
    outcomes: dict[str, dict[str, Any]] = {}
    modes = list(MODES)
    for pair in (modes[:2], modes[2:]):
        running = {
            mode: subprocess.Popen([*command, mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for mode in pair
        }
        for mode, process in running.items():
            out, err = process.communicate(timeout=120)
            lines = [json.loads(line) for line in out.splitlines()]
            outcomes[mode] = {line.get("name", "skip"): line for line in lines} | {
                "stderr": err,
                "status": process.returncode,
            }
    yield outcomes


@pytest.mark.parametrize("mode", MODES)
def test_every_program_is_stopped(results: dict[str, dict[str, Any]], mode: str) -> None:
    lines = results[mode]
    if "skip" in lines:
        pytest.skip(f"mode not run: {lines['skip']['skip']}")
    assert lines["status"] == 0, lines["stderr"]
    bad = [
        lines.get(name, {"name": name, "ended": "never played"})
        for name in [*NAMES, "the host"]
        if not lines.get(name, {}).get("ok")
    ]
    assert not bad, "\n".join(f"{line['name']}: {line['ended']} {line.get('why', '')}" for line in bad)
