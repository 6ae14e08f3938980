"""What a user sees when something is wrong: one paragraph that names it and the way out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.runs import cli


def test_help_answers_at_once() -> None:
    seconds = []
    for _ in range(5):  # the best of a few: the first compiles, and others share the machine
        began = time.perf_counter()
        done = cli("--help")
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.5
    assert "train" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from spadework.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint([m for m in ('torch', 'pydantic', 'numpy', 'pyarrow', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_dry_run_prints_the_resolved_config_and_the_corpus() -> None:
    done = cli("train", "scripted", "--dry-run", "--set", "play.episodes=7")
    assert done.returncode == 0
    assert '"episodes": 7' in done.stdout
    assert "documents in" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scripted", "--set", "play.epsodes=7"], ["play.epsodes", "play.episodes"]),
        (["no-such-config"], ["no-such-config", "scripted"]),
        (["scripted", "--set", "corpus.path=missing.jsonl"], ["corpus.path", "missing.jsonl", "does not exist"]),
        (["scripted", "--set", "pool.anchors=['nobody']"], ["pool.anchors", "nobody", "division_with_remainder"]),
        (["scripted", "--set", "model.name=./no/such/model"], ["no/such/model"]),
        (["--resume"], ["--run DIR"]),
        (["--resume", "--run", "nowhere"], ["nowhere", "no run directory"]),
    ],
)
def test_mistakes_are_one_clear_paragraph(tmp_path: Path, arguments: list[str], said: list[str]) -> None:
    where = [] if "--run" in arguments or arguments == ["--resume"] else ["--run", str(tmp_path / "run")]
    done = cli("train", *arguments, *where, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for words in said:
        assert words in done.stderr


def test_broken_lines_of_a_corpus_are_reported_and_left_out(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"text": "A sum adds two numbers.", "title": "Sums"}) + "\n{broken\n")
    done = cli(
        "train", "scripted", "--run", tmp_path / "run", "--set", "run.cycles=1", "--set", f"corpus.path={corpus}"
    )
    assert done.returncode == 0, done.stderr
    assert "1 broken lines" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_loses_nothing_but_the_cycle_in_flight(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        path = small / "run"
        done = cli("train", "scripted", "--run", path, "--set", "run.cycles=60")
        assert done.returncode == 2
        assert "cannot be written" in done.stderr
        assert "Traceback" not in done.stderr
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        before = len((path / "metrics.jsonl").read_text().splitlines())
        done = cli(
            "train", "scripted", "--run", path, "--resume", "--set", f"run.cycles={before + 2}", "--change-config"
        )
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["umount", str(small)], check=False)
