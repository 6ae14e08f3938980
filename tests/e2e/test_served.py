"""The local trainer with a server of token ids as its sampler: a whole run, and what is refused before it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serving import serve
from tests.runs import cli

from spadework import build
from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.runs.store import RunStore

pytest.importorskip("torch")


def arguments(server: Any, settings: Any) -> list[str]:
    changes = (
        "run.cycles=2",
        "run.deterministic=false",
        "sampler.type=server",
        f"sampler.folder={server.folder}",
        f'endpoint.urls=["{settings.urls[0]}"]',
        f"endpoint.server={settings.server}",
        "warmup.enabled=false",
        "play.few_shots=[{observation = 'a', reply = '\\boxed{yes}'}]",
    )
    return [argument for change in changes for argument in ("--set", change)]


def test_a_run_pushes_its_weights_after_each_update(tmp_path: Path) -> None:
    server, settings = serve("vllm")
    done = cli("train", "tiny", *arguments(server, settings), "--run", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert server.calls.count("/collective_rpc") == 3  # at the start, and after either cycle
    store = RunStore.read(tmp_path / "run")
    requests = store.metrics()["endpoint/requests"]
    store.close()
    assert sum(value for _, value in requests) == server.calls.count("/v1/completions") - 2  # two looked for the mode


def test_logprobs_of_another_temperature_are_refused(tmp_path: Path) -> None:
    server, settings = serve("vllm", raw=True)
    config = load_config("tiny", arguments(server, settings)[1::2])
    with pytest.raises(ConfigError, match="--logprobs-mode processed_logprobs"):
        build.build_engine(config)


def test_without_a_server_the_error_says_how_to_start_one(tmp_path: Path) -> None:
    server, settings = serve("sglang")
    changes = [*arguments(server, settings)[1::2], 'endpoint.urls=["http://127.0.0.1:9"]']
    with pytest.raises(ConfigError, match=f"--model-path {server.folder} .*--host 127.0.0.1 --port 9"):
        build.build_engine(load_config("tiny", changes))
    assert (server.folder / "model.safetensors").exists() and (server.folder / "tokenizer.json").exists()
