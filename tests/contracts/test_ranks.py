"""Several processes train as one does: same loss, gradients, weights and checkpoints, sharded or not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
from ranks_driver import MODES, OPTIONS, work
from safetensors.torch import load_file

from spadework.errors import ConfigError

DRIVER = Path(__file__).with_name("ranks_driver.py")
TIMES = ("tokens_per_second", "packed_tokens")
"""Rows of two ranks are not merged with each other, so more tokens are computed."""


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes made, a folder a mode."""
    folder = tmp_path_factory.mktemp("together")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*command, DRIVER, folder], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, dict[str, Any]]]:
    """What one process makes, by the rank of its adapter."""
    made = {}
    for mode in ("equal", "adapter"):
        folder = tmp_path_factory.mktemp(mode)
        made[MODES[mode].lora_rank] = folder, asyncio.run(work(MODES[mode], folder))
    return made


@pytest.mark.parametrize("mode", MODES)
def test_two_processes_train_as_one_does(
    mode: str, together: Path, alone: dict[int, tuple[Path, dict[str, Any]]]
) -> None:
    folder, expected = alone[MODES[mode].lora_rank]
    found = json.loads((together / mode / "found.json").read_text())
    for update in ("still", "moved", "roles", "few"):
        figures = {name: value for name, value in found[update].items() if name not in TIMES}
        others = {name: value for name, value in expected[update].items() if name not in TIMES}
        assert figures == pytest.approx(others, rel=2e-4, abs=1e-6), update
    assert found["version"] == expected["version"] == 1
    # A step that does not move leaves a tenth of the gradient in the first moments.
    gradients = load_file(together / mode / "still" / "optimizer.safetensors")
    others = load_file(folder / "still" / "optimizer.safetensors")
    assert gradients.keys() == others.keys()
    for name, gradient in gradients.items():
        scale = float(others[name].abs().max())
        assert float((gradient - others[name]).abs().max()) <= 1e-4 * scale, name
    for file in ("moved/weights.safetensors", "model/model.safetensors"):
        weights, others = (load_file(place / file) for place in (together / mode, folder))
        assert weights.keys() == others.keys()
        for name, weight in weights.items():
            assert float((weight - others[name]).abs().mean()) < 1e-5, name  # six steps of at most 1e-3


@pytest.mark.parametrize("mode", ["equal", "adapter"])
def test_every_rank_ends_with_the_same_weights(mode: str, together: Path) -> None:
    one, other = (load_file(together / mode / f"moved-rank{rank}.safetensors") for rank in (0, 1))
    assert one.keys() == other.keys()
    assert all(bool((one[name] == other[name]).all()) for name in one)


@pytest.mark.parametrize("mode", ["sharded", "sharded-adapter"])
def test_a_sharded_checkpoint_goes_on_in_one_process(
    mode: str, together: Path, alone: dict[int, tuple[Path, dict[str, Any]]], tmp_path: Path
) -> None:
    rank = MODES[mode].lora_rank
    options = MODES["adapter" if rank else "equal"]
    found, expected = (
        asyncio.run(work(options, _made(tmp_path / name), source / "moved"))
        for name, source in (("found", together / mode), ("expected", alone[rank][0]))
    )
    assert found["version"] == expected["version"] == 2
    assert found["still"]["loss"] == pytest.approx(expected["still"]["loss"], rel=1e-3)
    assert found["moved"]["grad_norm"] == pytest.approx(expected["moved"]["grad_norm"], rel=1e-3)


@pytest.mark.parametrize("mode", MODES)
def test_every_role_has_moments_of_its_own(mode: str, together: Path) -> None:
    """``fit`` came last, so its one set is there too."""
    names = {path.name for path in (together / mode / "moved").glob("optimizer*")}
    assert names == {"optimizer-agent.safetensors", "optimizer-designer.safetensors", "optimizer.safetensors"}


def test_sharding_needs_several_processes() -> None:
    with pytest.raises(ConfigError, match="torchrun"):
        asyncio.run(work(MODES["sharded"], Path("unused")))
    assert not OPTIONS.shard


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
