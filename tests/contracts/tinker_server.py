"""A Tinker server of one's own for tests: SkyRL on this machine, in a virtual environment of its own.

Started once for a session, when first asked for. ``SPADEWORK_TINKER_VENV`` names an environment that has SkyRL already;
else one is made in the user's cache, which takes minutes and 2 GB. ``SPADEWORK_TINKER_URL`` is a server that runs
already, on the folder ``SPADEWORK_TINKER_MODEL`` (``_tiny`` makes it).
"""

from __future__ import annotations

import atexit
import functools
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

PACKAGES = ("skyrl[tinker,jax]==0.3.0", "tinker==0.24.1")
SEED = 3
"""Of the tiny model that is served."""


@functools.cache
def served(model: Path | None = None) -> tuple[str, str]:
    """Address of the server and the name of its model: ``model``, or a tiny random one. Skips where it cannot run."""
    pytest.importorskip("torch")
    pytest.importorskip("tinker", reason="the extra `tinker` is not installed")
    if "SPADEWORK_TINKER_URL" in os.environ and model is None:
        return os.environ["SPADEWORK_TINKER_URL"], os.environ["SPADEWORK_TINKER_MODEL"]
    python = _environment() / "bin" / "python"
    folder = Path(tempfile.mkdtemp(prefix="spadework-tinker-"))
    model = model or _tiny(folder / "tiny")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (folder / "server.log").open("wb")
    command = [python, Path(__file__).with_name("tinker_serve.py"), model, str(port), folder]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    atexit.register(server.terminate)
    url = f"http://127.0.0.1:{port}"
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{url}/api/v1/healthz", timeout=2).close()
            return url, str(model)
        except OSError:
            time.sleep(1)
    pytest.skip(f"SkyRL's server did not start: {(folder / 'server.log').read_text()[-2000:]}")


def _tiny(folder: Path) -> Path:
    from spadework.policies.local.models import load_model

    loaded = load_model("tiny-random", seed=SEED)
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder


def _environment() -> Path:
    given = os.environ.get("SPADEWORK_TINKER_VENV")
    if given:
        return Path(given)
    folder = Path.home() / ".cache" / "spadework" / "test-environments" / "skyrl-0.3.0"
    if not (folder / "whole").exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=False, capture_output=True)
        install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *PACKAGES]
        done = subprocess.run(install, check=False, capture_output=True, text=True) if not made.returncode else made
        if done.returncode:
            pytest.skip(f"SkyRL cannot be installed here: {done.stderr[-500:]}")
        (folder / "whole").touch()
    return folder
