"""The wheel as a stranger meets it: a fresh virtual environment, an empty folder, and the tour's commands.

``SPADEWORK_PYTHONS`` names further interpreters, separated by colons.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOUR = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / "tour.md").read_text("utf-8"), re.M | re.S)
PYTHONS = [sys.executable, *filter(None, os.environ.get("SPADEWORK_PYTHONS", "").split(":"))]

pytestmark = pytest.mark.slow


def run(*command: object, folder: Path) -> str:
    """What a command prints, in an environment without this checkout."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, folder=folder)
    (path,) = folder.glob("spadework-*.whl")
    return path


@pytest.mark.parametrize("python", PYTHONS)
def test_the_tour_works_from_the_wheel_in_an_empty_folder(python: str, wheel: Path, tmp_path: Path) -> None:
    run(python, "-m", "venv", "venv", folder=tmp_path)
    installed = tmp_path / "venv" / "bin"
    constraints = ["--constraint", ROOT / "constraints.txt"]
    run(installed / "python", "-m", "pip", "install", "--quiet", *constraints, wheel, folder=tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    first = run(installed / "spadework", "train", folder=empty)
    assert "scripted" in first.splitlines()[0], "without torch the demo is taken, and the first line says so"
    for command in [line for block in TOUR for line in block.splitlines()]:
        run(installed / command.split()[0], *command.split()[1:], folder=empty)
    assert (empty / "episodes.parquet").stat().st_size > 0
