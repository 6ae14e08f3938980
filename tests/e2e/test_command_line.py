"""What a user sees when something is wrong: one paragraph that names it and the way out."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.runs import cli

from spadework.config.files import load_config, parse_config


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


def test_dry_run_prints_the_resolved_config_and_the_corpus(tmp_path: Path) -> None:
    done = cli("train", "scripted", "--dry-run", "--set", "play.episodes=7")
    assert done.returncode == 0
    assert "episodes = 7" in done.stdout
    assert "documents in" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("#   memory")
    (tmp_path / "mine.toml").write_text(done.stdout)
    assert load_config(str(tmp_path / "mine.toml")) == load_config("scripted", ["play.episodes=7"])
    whole = json.loads(cli("train", "scripted", "--dry-run", "--json").stdout)
    assert parse_config(whole["config"], "here") == load_config("scripted")
    assert whole["estimate"]["design_cycles"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scripted", "--set", "play.epsodes=7"], ["play.epsodes", "play.episodes"]),
        (["no-such-config"], ["no-such-config", "scripted"]),
        (["scripted", "--set", "corpus.path=missing.jsonl"], ["corpus.path", "missing.jsonl", "does not exist"]),
        (["scripted", "--set", "pool.source=nothing.parquet"], ["nothing.parquet", "no such file, folder or pool"]),
        (["scripted", "--set", "sandbox.require=['nothing']"], ["nothing"]),
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
    assert not (tmp_path / "run").exists(), "a start that fails leaves nothing"


def test_broken_lines_of_a_corpus_are_reported_and_left_out(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"text": "A sum adds two numbers.", "title": "Sums"}) + "\n{broken\n")
    done = cli(
        "train", "scripted", "--run", tmp_path / "run", "--set", "run.cycles=1", "--set", f"corpus.path={corpus}"
    )
    assert done.returncode == 0, done.stderr
    assert "1 broken lines" in done.stdout


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a disk of the given size, and gives it another size when asked again."""
    folder = tmp_path / "small"

    def mount(size: str) -> Path:
        how = [f"remount,size={size}"] if folder.exists() else [f"size={size}", "-t", "tmpfs", "none"]
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-o", *how, str(folder)], capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
        return folder

    yield mount
    subprocess.run(["umount", str(folder)], check=False, capture_output=True)


def test_a_full_disk_loses_nothing_but_the_cycle_in_flight(small: Callable[[str], Path]) -> None:
    path = small("1m") / "run"
    done = cli("train", "scripted", "--run", path, "--set", "run.cycles=60")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr and "--resume" in done.stderr
    assert "Traceback" not in done.stderr
    small("64m")
    before = len((path / "metrics.jsonl").read_text().splitlines())
    assert before > 0
    done = cli("train", "--run", path, "--resume", "--set", f"run.cycles={before + 2}")
    assert done.returncode == 0, done.stderr
    assert len((path / "metrics.jsonl").read_text().splitlines()) == before + 2


def test_a_disk_too_small_for_a_cycle_leaves_nothing_and_the_same_command_works(small: Callable[[str], Path]) -> None:
    command = ("train", "scripted", "--run", small("128k") / "run", "--set", "run.cycles=1")
    done = cli(*command)
    assert done.returncode == 2
    assert "run the same command again" in done.stderr
    assert not list(small("64m").iterdir())
    assert cli(*command).returncode == 0
