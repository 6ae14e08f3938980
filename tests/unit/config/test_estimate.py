"""The estimate of a run's cost, by hand."""

import pytest

from spadework.config import RunConfig
from spadework.config.estimate import PARAMETERS, Assumptions, estimate, lines, memory
from spadework.config.files import load_config
from spadework.resources import shipped

ROLES = ("agent", "designer")
PAPER = sorted(
    str(path.relative_to(shipped("configs")))
    for pattern in ("games-*.toml", "fixed-*.toml", "authors-*.toml", "ablations/*.toml")
    for path in shipped("configs").glob(pattern)
)


def test_the_papers_run():
    found = estimate(RunConfig(), Assumptions(accepted=0.5))
    assert (found.design_cycles, found.pool) == (100, 24)
    assert (found.unhinted, found.hinted) == (384, 384)
    assert found.episodes == 400 * 384 + 100 * 384
    # 1 + 1/2 + 1/4 + 1/8 + 1/16 tries a slot
    assert (found.designs.most, found.designs.expected) == (120, pytest.approx(24 * 1.9375))
    assert (found.agent_rows, found.designer_rows) == (384, 24)
    assert found.episode_tokens.most == 32_768
    assert found.episode_tokens.expected == pytest.approx(9 * 819.2)
    assert found.attempt_tokens.most == 16_384 + 3 * 256
    assert found.attempt_tokens.expected == pytest.approx(4_096 + 75)
    assert found.tokens.most == 192_000 * 32_768 + 100 * 120 * 17_152


def test_a_fixed_pool_designs_nothing():
    found = estimate(load_config("fixed-pool-8b"))
    assert (found.designs.most, found.design_cycles, found.hinted, found.episodes) == (0, 0, 0, 400 * 384)
    assert found.designer_rows == 0


def test_anchors_are_hinted_once_and_short_limits_bind():
    sizes = ["run.cycles=12", "designer.environments=4", "play.episodes=8", "play.max_turns=3", "play.max_tokens=48"]
    found = estimate(load_config("scripted", [*sizes, "pool.anchors=['a','b','c','d']", "designer.every=2"]))
    assert found.episodes == 12 * 64 + 6 * 32 + 4 * 8
    assert found.episode_tokens.most == 3 * 48


def test_memory_by_hand():
    held = memory(load_config("games-8b"))
    n = PARAMETERS["Qwen/Qwen3-8B"]
    # fp32 weights and a bf16 copy, gradients, two moments, and the start model for the KL
    assert (held.weights, held.gradients, held.optimiser, held.reference) == (6 * n, 4 * n, 8 * n, 4 * n)
    rows, a_token = 32 + 64, 2 * 36 * 8 * 128 * 2  # layers, key/value heads, head size, bfloat16
    assert held.keys_and_values == rows * 32_768 * a_token
    assert held.activations == 32_768 * (34 * 4_096 * 36 + 8 * 151_936)
    assert held.total == 22 * n + held.keys_and_values + held.activations
    assert memory(load_config("scripted")) is None


def test_games_4b_would_take_432_gib_of_keys_and_values():
    held = memory(load_config("games-4b"))
    assert held.keys_and_values == 432 * 2**30
    assert "keys and values 463.9 GB" in "\n".join(lines(load_config("games-4b")))
    server = ["sampler.type=server", "sampler.folder=/dev/shm/w", "endpoint.server=vllm"]
    served = load_config("games-4b", [*server, 'endpoint.urls=["http://localhost:8000"]'])
    assert memory(served).keys_and_values == 0


def test_a_step_of_each_role_has_moments_of_its_own():
    n = PARAMETERS["Qwen/Qwen3-8B"]
    assert memory(load_config("games-8b", ["update.by_role=true"])).optimiser == 16 * n
    none = ["update.by_role=true", "update.kl_coef=0.1", *(f"update.roles.{role}.kl_coef=0" for role in ROLES)]
    assert memory(load_config("games-8b", none)).reference == 0
    assert memory(load_config("games-8b", [*none, "update.roles.designer.kl_coef=0.1"])).reference == 4 * n


def test_an_adapter_trains_few_weights():
    held = memory(load_config("games-8b", ["model.lora_rank=16", "model.dtype=float32"]))
    n = PARAMETERS["Qwen/Qwen3-8B"]
    assert (held.weights, held.gradients, held.optimiser, held.reference) == (8 * n, 0, 0, 0)


@pytest.mark.parametrize("name", PAPER)
def test_every_paper_config_is_estimated(name):
    config = load_config(name)
    told = "\n".join(lines(config))
    assert config.run.cycles == 400
    assert "at most" in told
    assert "GB" in told


def test_there_are_eighteen():
    assert len(PAPER) == 18
