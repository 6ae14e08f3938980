"""Virtual environments of frameworks that do not go together, each made once and kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spadework.resources import cache_dir

ROOT = Path(__file__).parents[2]
OWN = ("pydantic", "rich", "numpy", "pyarrow", "math-verify", "httpx")
"""What this package itself needs; it is then imported from the source tree."""


def framework(name: str, *packages: str) -> Path:
    """The interpreter of the environment ``name`` with ``packages`` in it. Skips the test where it cannot be made."""
    kept = Path(os.environ.get("SPADEWORK_TEST_VENVS", cache_dir() / "venvs"))
    folder = kept / name
    python = folder / "bin" / "python"
    kept.mkdir(parents=True, exist_ok=True)
    ready = folder / "ready"
    with (kept / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text() != "\n".join(packages):
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            install = [python, "-m", "pip", "install", "--quiet", *OWN, *packages]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"{' '.join(packages)} cannot be installed here: {done.stderr.strip()[-300:]}")
            ready.write_text("\n".join(packages))
    return python


def run(python: Path, *arguments: object, timeout: float = 300) -> str:
    """The standard output of a script in that environment, with this package on its path; it must end with status 0."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "NO_COLOR": "1"}
    command = [str(python), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=timeout)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
