"""The whole method through a Tinker server of one's own: play, train, checkpoint, and go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import cli
from tinker_server import served

from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.runs.store import RunStore

SETTINGS = (
    "run.deterministic=false",
    "model.lora_rank=4",
    "designer.environments=3",
    "play.episodes=4",
    "update.lr=1e-3",
)
"""Of the scale model: what it writes runs, and it wins some of its plays, so that there is something to train on."""


@pytest.mark.slow
def test_a_run_trains_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from spadework.scale_model.architecture import WEIGHTS

    url, model = served(WEIGHTS)
    changes = [*SETTINGS, f"model.name=tinker:{model}", f"tinker.base_url={url}"]
    arguments = [argument for change in changes for argument in ("--set", change)]
    first = cli("train", "scale", *arguments, "--set", "run.cycles=1", "--run", tmp_path / "run", timeout=3000)
    assert first.returncode == 0, first.stdout + first.stderr
    more = ("--resume", "--change-config", "--set", "run.cycles=2")
    second = cli("train", "scale", *arguments, *more, "--run", tmp_path / "run", timeout=3000)
    assert second.returncode == 0, second.stdout + second.stderr
    store = RunStore.read(tmp_path / "run")
    metrics = store.metrics()
    store.close()
    assert [cycle for cycle, _ in metrics["pool/size"]] == [0, 1]
    assert all(value < 1e-3 for _, value in metrics["train/logprob_mismatch"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("play.temperature=0.6", "play.temperature is 0.6"),
        ("designer.temperature=0.6", "designer.temperature is 0.6"),
        ("warmup.enabled=true", "warmup.enabled"),
        ("run.deterministic=true", "run.deterministic"),
    ],
)
def test_what_a_server_cannot_do_is_refused_before_anything_starts(change: str, message: str) -> None:
    from spadework import build

    with pytest.raises(ConfigError, match=message):
        build.check_trains(load_config("scale", [*SETTINGS, "model.name=tinker:some/model", change]))


def test_no_server_is_a_sentence() -> None:
    pytest.importorskip("tinker", reason="the extra `tinker` is not installed")
    from spadework.policies.tinker.policy import TinkerOptions, connect

    with pytest.raises(ConfigError, match="no server answers at"):
        connect("some/model", TinkerOptions("http://127.0.0.1:9"))
