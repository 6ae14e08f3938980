"""``transformers serve``, a server that none of us wrote, in a virtual environment of its own, serves the scale model.

It refuses fields that it does not know, and pins one model: eval, play, rank and design work against it all the same.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from spadework.cli import main
from spadework.evals.records import read_result
from spadework.resources import cache_dir, scale_weights, shipped
from spadework.runs.tables import read_episodes

pytestmark = pytest.mark.slow

PACKAGES = ("torch", "transformers[serving]")
"""In the versions of ``constraints.txt``."""
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
GAME = str(shipped("examples") / "environments" / "games" / "division_with_remainder.py")
SHORT = ["--set", "play.max_tokens=48", "--set", "play.top_k=5"]


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the server's own environment, which is made once and kept in the user's cache."""
    folder = cache_dir() / "venvs" / "transformers-serve"
    folder.parent.mkdir(parents=True, exist_ok=True)
    ready = folder / "ready"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS]
            done = subprocess.run([*install, *PACKAGES], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"{' '.join(PACKAGES)} cannot be installed here: {done.stderr.strip()[-300:]}")
            ready.touch()
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def url(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log"
    command = [python.with_name("transformers"), "serve", scale_weights(), "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as out:
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
        server = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        _wait(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(30)


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"transformers serve did not start: {log.read_text()[-2000:]}")


def asked(url: str) -> list[str]:
    return ["--endpoint", url, "--model", str(scale_weights())]


def test_eval_scores_without_the_field_that_it_refuses(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "aime.jsonl"
    data.write_text(
        "".join(json.dumps({"id": n, "problem": f"Double {n}.", "answer": 2 * n}) + "\n" for n in (1, 2, 3))
    )
    short = ["-n", "2", "--sampling", "max_tokens=32", "--out", str(tmp_path)]
    assert main(["eval", "aime2025", *asked(url), "--data", str(data), *short]) == 0
    result = read_result(tmp_path / "aime2025.json")
    assert (result.n, result.errors, result.dropped) == (6, 0, ("top_k",))
    assert all(item.tokens or item.detail["reply"] for item in result.items)
    assert "the endpoint refused top_k" in capsys.readouterr().out
    assert len([text for text in caplog.messages if "without the refused top_k" in text]) == 1


def test_it_plays_and_ranks(url: str, tmp_path: Path) -> None:
    out, ranking = tmp_path / "episodes.parquet", tmp_path / "ranking.jsonl"
    assert main(["play", GAME, "-n", "3", *asked(url), *SHORT, "--out", str(out)]) == 0
    episodes = read_episodes(out)
    assert len(episodes) == 6 and all(episode.valid and episode.turns[0].reply for episode in episodes)
    prompts = tmp_path / "prompts.jsonl"
    row = {"id": "q", "prompt": "Add 11 and 20.", "hint": "Carry.", "answer": "31", "grader": "math"}
    prompts.write_text(json.dumps(row) + "\n")
    assert main(["rank", str(prompts), GAME, "-n", "2", *asked(url), *SHORT, "--out", str(ranking)]) == 0
    ranked = [json.loads(line) for line in ranking.read_text().splitlines()]
    assert [(one["episodes"], one["faults"]) for one in ranked] == [(4, 0), (4, 0)]


def test_it_designs(url: str, tmp_path: Path) -> None:
    """A model of a million parameters writes no program of this form: it is rejected for that, not for a fault."""
    short = ["--set", "designer.max_tokens=100", "--set", "designer.attempts=2"]
    assert main(["design", "-n", "1", *asked(url), *short, "--out", f"{tmp_path}/pool/"]) == 1
    rows = [json.loads(line) for line in (tmp_path / "pool" / "pool.rejected.jsonl").read_text().splitlines()]
    assert len(rows) == 2 and all(row["reply"] and row["findings"] and row["fault"] is None for row in rows)


def test_a_wrong_name_is_told_with_the_one_that_is_served(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", GAME, "--endpoint", url, "--model", "nobody"]) == 2
    assert f"It serves {scale_weights()}" in capsys.readouterr().err


def test_a_begun_reply_is_refused_with_what_to_set(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--set", "designer.skeleton=true", "--set", "designer.max_tokens=50", "--set", "designer.attempts=1"]
    assert main(["design", "-n", "1", *asked(url), *short, "--out", str(tmp_path / "pool")]) == 1
    assert "set designer.skeleton = false" in capsys.readouterr().out
