"""Programs made worse, and programs made different: the checker finds the first and lets the second be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "mutants.py"


def test_weakened_programs_are_found_and_harmless_rewrites_pass() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--quick", "--json"], capture_output=True, text=True, timeout=300)
    figures = {row["name"]: row["value"] for row in map(json.loads, done.stdout.splitlines())}
    assert figures["weakened programs"] == figures["harmless rewrites"] == 50, done.stderr
    assert figures["weakened programs found"] >= 0.92, done.stderr  # the bar of .95 is for the whole of 200
    assert figures["harmless rewrites refused"] <= 0.02, done.stderr
