"""The presets hold the values of the paper's Table 5 and of the authors' launchers, key by key."""

from __future__ import annotations

from typing import Any

import pytest

from spadework.config import RunConfig
from spadework.config.files import dump_config, load_config

Values = dict[str, Any]
SIZES = ("4b", "8b", "30b")
MODELS = {
    "4b": "Qwen/Qwen3-4B-Instruct-2507",
    "8b": "Qwen/Qwen3-8B",
    "30b": "Qwen/Qwen3-30B-A3B-Instruct-2507",
}

TABLE_5: Values = {
    "run.cycles": 400,
    "designer.environments": 24,
    "designer.every": 4,
    "designer.active_skills": 3,
    "designer.temperature": 0.6,
    "designer.max_tokens": 16_384,
    "play.episodes": 16,
    "play.temperature": 0.6,
    "play.max_tokens": 8_192,
    "play.max_turns": 25,
    "play.max_episode_tokens": 32_768,
    "model.max_length": 32_768,
    "memory.enabled": True,
    "agent.advantage": "z_score",
    "agent.return_type": "last",
    "reward.type": "blend",
    "reward.blend.plateau_share": 0.6,
    "reward.blend.regret_scale": 0.15,
    "reward.plateau.low": 0.4,
    "reward.plateau.high": 0.6,
    "reward.plateau.slope": 0.25,
    "reward.delay": 4,
    "update.lr": 1e-6,
    "update.beta1": 0.9,
    "update.beta2": 0.98,
    "update.weight_decay": 0.1,
    "update.clip_low": 0.2,
    "update.clip_high": 0.28,
    "update.kl_coef": 0.0,
}
"""Table 5 of arXiv 2608.19197: the games runs of all sizes."""
TABLE_5_OF_8B: Values = {"designer.max_tokens": 20_000, "update.kl_coef": 0.005}
"""What Table 5 gives for 8B alone."""
TOOL_USE: Values = {"designer.every": 8, "reward.delay": 8}
"""What the paper gives for tool use."""

GAMES_LAUNCHER: dict[str, tuple[str, Any]] = {
    "--num-rollout 400": ("run.cycles", 400),
    "--spade-env-temperature 0.6": ("designer.temperature", 0.6),
    "--spade-actor-temperature 0.6": ("play.temperature", 0.6),
    "--spade-actor-max-tokens 8192": ("play.max_tokens", 8_192),
    "--spade-env-max-tokens 16384": ("designer.max_tokens", 16_384),
    "--spade-max-context-length 32768": ("play.max_episode_tokens", 32_768),
    "--spade-max-turns 25": ("play.max_turns", 25),
    "--spade-game-regeneration-interval 4": ("designer.every", 4),
    "--spade-skills-per-regen 3": ("designer.active_skills", 3),
    "--spade-num-games-per-rollout 24": ("designer.environments", 24),
    "--global-batch-size 192, over 24 games": ("play.episodes", 8),
    "--spade-reward-normalization grpo": ("agent.advantage", "z_score"),
    "--spade-env-reward-variant blend": ("reward.type", "blend"),
    "--spade-plateau-weight 0.6": ("reward.blend.plateau_share", 0.6),
    "--spade-regret-scale 0.15": ("reward.blend.regret_scale", 0.15),
    "--spade-plateau-lo 0.4": ("reward.plateau.low", 0.4),
    "--spade-plateau-hi 0.6": ("reward.plateau.high", 0.6),
    "--spade-plateau-ramp 0.25": ("reward.plateau.slope", 0.25),
    "--spade-gamma1 0.98": ("reward.learning_potential.gamma_fast", 0.98),
    "--spade-gamma2 0.85": ("reward.learning_potential.gamma_slow", 0.85),
    "--spade-hint-temperature 0.3": ("hint.temperature", 0.3),
    "--spade-hint-max-tokens 4096": ("hint.max_tokens", 4_096),
    "--spade-hint-plays-per-game 16": ("play.hinted_episodes", 16),
    "--spade-proposer-training-delay 4": ("reward.delay", 4),
    "--spade-corpus-max-doc-tokens 6000": ("corpus.max_words", 6_000),
    "--spade-use-env-memory": ("memory.enabled", True),
    "--spade-env-memory-max-size 200": ("memory.size", 200),
    "--kl-loss-coef 0.00": ("update.kl_coef", 0.0),
    "--eps-clip 0.2": ("update.clip_low", 0.2),
    "--eps-clip-high 0.28": ("update.clip_high", 0.28),
    "--lr 1e-6": ("update.lr", 1e-6),
    "--adam-beta1 0.9": ("update.beta1", 0.9),
    "--adam-beta2 0.98": ("update.beta2", 0.98),
    "--weight-decay 0.1": ("update.weight_decay", 0.1),
}
"""cmd/games/train_spade_4b.sh and train_spade_30b.sh of github.com/spade-rl/spade at 9b2b813."""
GAMES_8B: dict[str, tuple[str, Any]] = {
    "--spade-env-max-tokens 20000": ("designer.max_tokens", 20_000),
    "--kl-loss-coef 0.005": ("update.kl_coef", 0.005),
}
"""Where cmd/games/train_spade_8b.sh differs."""
TOOL_USE_LAUNCHER: dict[str, tuple[str, Any]] = {
    "--spade-game-regeneration-interval 8": ("designer.every", 8),
    "--spade-proposer-training-delay 8": ("reward.delay", 8),
    "all six of --spade-skills": ("designer.active_skills", 6),
    "--spade-hint-max-tokens 2048": ("hint.max_tokens", 2_048),
    "--spade-corpus-max-doc-tokens 4000": ("corpus.max_words", 4_000),
    "--spade-use-env-validator": ("validation.model_check", True),
    "--spade-compact-filter": ("agent.mask_truncated", True),
    "SPADE_MASK_MALFORMED_TOOLCALL 1": ("agent.mask_malformed", True),
    "--kl-loss-coef 0.005": ("update.kl_coef", 0.005),
}
"""Where cmd/tool_use/_train_spade_blend.sh (8B and 30B) differs from the games launcher."""
TOOL_USE_8B: dict[str, tuple[str, Any]] = {"ENV_MAX_TOKENS 20000": ("designer.max_tokens", 20_000)}
TOOL_USE_4B: dict[str, tuple[str, Any]] = {
    "--num-rollout 500": ("run.cycles", 500),
    "--spade-num-games-per-rollout 16": ("designer.environments", 16),
    "--global-batch-size 256, over 16 games": ("play.episodes", 16),
    "--spade-game-regeneration-interval 32": ("designer.every", 32),
    "--spade-proposer-training-delay 32": ("reward.delay", 32),
    "--spade-hint-max-tokens 512": ("hint.max_tokens", 512),
    "--spade-hint-plays-per-game 4": ("play.hinted_episodes", 4),
    "--spade-env-reward-variant regret_based": ("reward.type", "sum"),
    "--spade-use-solver-variance-reward": ("reward.sum", {"regret": 1.0, "spread": 1.0}),
}
"""Where cmd/tool_use/train_spade_4b.sh differs from that of the other sizes."""

CODE: Values = {
    "update.kl_rows": "all",
    "designer.top_p": 0.95,
    "designer.top_k": 20,
    "play.top_p": 0.95,
    "play.top_k": 20,
    "play.paired": False,
    "memory.rewrite": False,
    "validation.panel": False,
    "validation.refuse_copies": False,
    "reward.timeout_under": ["regret"],
    "reward.centre_below": 1,
    "update.average": "sample_mean",
}
"""What their code does without being told by a launcher (docs/method.md, "Where we differ")."""
OURS = {"play.episodes", "play.hinted_episodes", "agent.mask_malformed", "validation.model_check_tokens"} | set(CODE)
"""Keys in which the preset of the authors' run may differ from that of the paper at 8B and 30B."""


def flat(config: RunConfig) -> Values:
    """Every setting by its full key; ``reward.sum`` as one."""
    found: Values = {}

    def walk(table: Values, prefix: str) -> None:
        for key, value in table.items():
            name = f"{prefix}{key}"
            if isinstance(value, dict) and name != "reward.sum":
                walk(value, f"{name}.")
            else:
                found[name] = value

    walk(dump_config(config), "")
    return found


def expected_of_launcher(domain: str, size: str) -> Values:
    tables = [GAMES_LAUNCHER]
    if domain == "games" and size == "8b":
        tables.append(GAMES_8B)
    if domain == "tool-use":
        tables.append(TOOL_USE_LAUNCHER)
        tables += {"4b": [TOOL_USE_4B], "8b": [TOOL_USE_8B]}.get(size, [])
    return CODE | {key: value for table in tables for key, value in table.values()}


def differing(found: Values, expected: Values) -> Values:
    return {key: (found[key], value) for key, value in expected.items() if found[key] != value}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("domain", ["games", "tool-use"])
def test_the_papers_presets_are_table_5(domain, size):
    found = flat(load_config(f"{domain}-{size}"))
    expected = TABLE_5 | (TABLE_5_OF_8B if size == "8b" else {})
    if domain == "tool-use":  # all skills are active, and KL is that of the launchers
        expected = expected | TOOL_USE | {"designer.active_skills": 6, "update.kl_coef": 0.005}
    assert not differing(found, expected | {"model.name": MODELS[size]})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("domain", ["games", "tool-use"])
def test_the_authors_presets_are_their_launchers(domain, size):
    found = flat(load_config(f"authors/{domain}-{size}"))
    assert not differing(found, expected_of_launcher(domain, size) | {"model.name": MODELS[size]})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("domain", ["games", "tool-use"])
def test_a_preset_of_the_authors_differs_from_the_papers_in_nothing_that_no_table_names(domain, size):
    paper, authors = (flat(load_config(f"{prefix}{domain}-{size}")) for prefix in ("", "authors/"))
    allowed = set(OURS)
    if (domain, size) == ("tool-use", "4b"):
        allowed |= {key for key, _ in TOOL_USE_4B.values()}
    assert {key for key in authors if authors[key] != paper[key]} <= allowed
