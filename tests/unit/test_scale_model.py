"""The scale model's build in miniature, and that a stopped one goes on as if nothing had been."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from spadework.config.files import load_config
from spadework.policies.local.models import load_model
from spadework.scale_model.build import BuildSettings, build_scale_model

SMALL = BuildSettings(seed=1, steps=4, plays=6, designs=2, texts=40, threads=1)


class Stopped(Exception):
    pass


def ignore(done: int, plays: float, designs: float) -> None:
    """Nobody watches."""


def test_a_stopped_build_ends_as_an_unbroken_one(tmp_path: Path) -> None:
    config = load_config("scale")
    losses: list[float] = []

    def stop(done: int, plays: float, designs: float) -> None:
        losses.append(plays)
        if done == 3:
            raise Stopped

    build_scale_model(tmp_path / "whole", config, SMALL, ignore)
    with pytest.raises(Stopped):
        build_scale_model(tmp_path / "stopped", config, dataclasses.replace(SMALL, save_every=2), stop)
    assert not (tmp_path / "stopped").exists()
    build_scale_model(tmp_path / "stopped", config, SMALL, lambda done, *_: losses.append(done))
    assert losses[3:] == [3, 4]
    whole, stopped = (load_model(str(tmp_path / name)).model.state_dict() for name in ("whole", "stopped"))
    assert all(torch.equal(whole[name], stopped[name]) for name in whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped", "whole"]


def test_the_shipped_weights_have_the_promised_shape() -> None:
    loaded = load_model("scale")
    parameters = sum(p.numel() for p in loaded.model.parameters())
    assert 1e6 <= parameters <= 2.4e6
    assert {p.dtype for p in loaded.model.parameters()} == {torch.float32}
    assert loaded.model.config.architectures == ["LlamaForCausalLM"]
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("Zwölf \\boxed{12}\n", add_special_tokens=False)) == (
        "Zwölf \\boxed{12}\n"
    )
