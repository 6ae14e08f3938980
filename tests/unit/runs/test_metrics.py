"""``metrics.jsonl`` misses no stored cycle, and a sink that fails stops nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.runs import cli

from spadework.runs.metrics import JsonlSink, OptionalSink, by_cycle


def cycles(path: Path) -> list[int]:
    return [json.loads(line)["cycle"] for line in path.read_text().splitlines()]


def test_what_the_file_misses_is_written_and_torn_lines_go(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"cycle": 0, "a": 1.0}\n{"cycle": 2, "a": 9.0}\n{"cyc')
    stored = by_cycle({"a": [(0, 1.0), (1, 2.0)], "b": [(1, 3.0)]})
    sink = JsonlSink(path, 2, stored)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"cycle": 0, "a": 1.0},
        {"cycle": 1, "a": 2.0, "b": 3.0},
    ]
    sink.log(2, {"a": 4.0})
    sink.close()
    assert cycles(path) == [0, 1, 2]


def test_a_sink_that_fails_is_given_up_with_one_line() -> None:
    class Broken:
        def log(self, step: int, metrics: Mapping[str, float]) -> None:
            raise UnicodeEncodeError("ascii", "ü", 0, 1, "no")

        def close(self) -> None:
            raise AssertionError("it was given up")

    said: list[str] = []
    sink = OptionalSink("tensorboard", Broken(), said.append)
    for cycle in range(3):
        sink.log(cycle, {})
    sink.close()
    assert len(said) == 1
    assert said[0].startswith("tensorboard: given up")


def test_a_folder_that_the_locale_cannot_spell(tmp_path: Path) -> None:
    path = tmp_path / "läuft-日本"
    done = cli("train", "scripted", "--set", "run.cycles=1", "--run", path, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    assert cycles(path / "metrics.jsonl") == [0]
    unaided = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = cli("train", "scripted", "--set", "run.cycles=1", "--run", tmp_path / "noch-日本", env=unaided)
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


def test_metrics_that_cannot_be_written_stop_no_run(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom spadework.runs import metrics\n"
        "def fail(self, step, values): raise OSError(28, 'No space left on device')\n"
        "metrics.JsonlSink.log = fail\nfrom spadework.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    path = tmp_path / "run"
    command = [sys.executable, "-c", code, "train", "scripted", "--set", "run.cycles=2", "--run", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("metrics.jsonl: given up") == 1
    assert cli("train", "--resume", "--run", path, "--set", "run.cycles=3").returncode == 0
    assert cycles(path / "metrics.jsonl") == [0, 1, 2]
