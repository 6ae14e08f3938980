"""What a config will cost, before anything is started: episodes, designs, tokens, rows and memory. Plain arithmetic.

Bounds hold whatever happens; expectations rest on ``Assumptions``, which are printed beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spadework.config import RunConfig

PARAMETERS: Mapping[str, int] = {
    "scale": 1_082_496,
    "smollm2-135m": 134_515_008,
    "Qwen/Qwen3-4B-Instruct-2507": 4_022_468_096,
    "Qwen/Qwen3-4B": 4_022_468_096,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "Qwen/Qwen3-30B-A3B-Instruct-2507": 30_532_122_624,
}
"""Weights of the models that shipped configs name, all experts counted."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a model's architecture decides its memory beside weights."""

    layers: int
    hidden: int
    key_value_heads: int
    head_size: int
    vocabulary: int


SHAPES: Mapping[str, Shape] = {
    "scale": Shape(4, 128, 4, 32, 1_536),
    "smollm2-135m": Shape(30, 576, 3, 64, 49_152),
    "Qwen/Qwen3-4B-Instruct-2507": Shape(36, 2_560, 8, 128, 151_936),
    "Qwen/Qwen3-4B": Shape(36, 2_560, 8, 128, 151_936),
    "Qwen/Qwen3-8B": Shape(36, 4_096, 8, 128, 151_936),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": Shape(48, 2_048, 4, 128, 151_936),
}
"""By their configs on the hub; the models of ``PARAMETERS``."""

ACTIVATION_BYTES = 34
"""Of a token in a layer, for each unit of the hidden size, kept for the backward pass in half precision (Korthikanti et
al. 2022, equation 1, without its attention scores, which fused attention does not keep)."""
TOKENS_PER_SECOND = 1_000
"""The rate of sampling for which the estimate tells hours: multiply by what a machine does."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What an expectation takes for granted, as shares of the limits that the config sets."""

    accepted: float = 0.5
    """Attempts that become environments."""
    design_share: float = 0.25
    """Tokens of a design: about 4,000 of the paper's 16,384, for programs of some 316 lines (Table 7)."""
    hint_tokens: int = 150
    """A hint of a hundred words."""
    turns: float = 9.0
    """Of an episode (Table 7: 8.8, 8.2, 9.8)."""
    reply_share: float = 0.1
    """Tokens of a turn."""


@dataclass(frozen=True, slots=True)
class Work:
    """An upper bound and what is expected."""

    most: float
    expected: float


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of what sampling and training hold; parameters are those of ``PARAMETERS``."""

    parameters: int
    weights: int
    """fp32 master weights and the sampling copy."""
    gradients: int
    optimiser: int
    reference: int
    """The frozen start model, for the KL term."""
    keys_and_values: int
    """The embedded sampler's cache: ``model.slots`` and ``model.parked`` rows of ``model.max_length`` tokens. 0 where a
    server samples, which takes what it is given."""
    activations: int
    """Those of the longest row, roughly: its layers, and its logits in single precision with their gradient."""

    @property
    def total(self) -> int:
        """All of it."""
        held = self.weights + self.gradients + self.optimiser + self.reference
        return held + self.keys_and_values + self.activations


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of a whole run. A design cycle is one in which the designer writes."""

    design_cycles: int
    pool: int
    unhinted: int
    """Episodes a cycle."""
    hinted: int
    """Episodes a design cycle; of a fixed pool, those of each cycle."""
    episodes: int
    """In all, at most."""
    designs: Work
    """Attempts a design cycle."""
    agent_rows: int
    """Episodes that train in a cycle, at most."""
    designer_rows: int
    """Designs that train in the cycle in which a design cycle is paid, at most."""
    episode_tokens: Work
    attempt_tokens: Work
    tokens: Work
    """Sampled in all, both roles."""


def estimate(config: RunConfig, assume: Assumptions | None = None) -> Estimate:
    """The cost of a run of ``config``. A pool that holds enough is taken for granted."""
    assume = assume or Assumptions()
    designer, play = config.designer, config.play
    cycles = config.run.cycles
    slots, anchors = designer.environments, len(config.pool.anchors)
    drawn = config.drawn
    design_cycles = -(-cycles // designer.every) if slots else 0
    unhinted = (anchors + slots + drawn + config.pool.replay) * play.episodes
    hinted = slots * config.hinted_episodes
    drawn_hinted = drawn * config.hinted_episodes
    episodes = cycles * (unhinted + drawn_hinted) + design_cycles * hinted + anchors * config.hinted_episodes
    designs = Work(slots * designer.attempts, slots * _attempts(assume.accepted, designer.attempts))
    episode, attempt = _episode_tokens(config, assume), _attempt_tokens(config, assume)
    return Estimate(
        design_cycles=design_cycles,
        pool=anchors + slots + drawn,
        unhinted=unhinted,
        hinted=hinted + drawn_hinted,
        episodes=episodes,
        designs=designs,
        agent_rows=unhinted + (hinted + drawn_hinted if config.agent.train_hinted else 0),
        designer_rows=(int(designs.most) if designer.train_rejected else slots) if designer.train else 0,
        episode_tokens=episode,
        attempt_tokens=attempt,
        tokens=Work(
            episodes * episode.most + design_cycles * designs.most * attempt.most,
            episodes * episode.expected + design_cycles * designs.expected * attempt.expected,
        ),
    )


def _attempts(accepted: float, most: int) -> float:
    """Expected tries of a slot that stops at the first success, at most ``most``."""
    return (1 - (1 - accepted) ** most) / accepted


def _episode_tokens(config: RunConfig, assume: Assumptions) -> Work:
    play = config.play
    most = min(play.max_turns * play.max_tokens, play.max_episode_tokens)
    turns = min(assume.turns, play.max_turns)
    return Work(most, min(turns * assume.reply_share * play.max_tokens, most))


def _attempt_tokens(config: RunConfig, assume: Assumptions) -> Work:
    hint = config.hint
    most = config.designer.max_tokens + hint.attempts * hint.max_tokens
    written = assume.design_share * config.designer.max_tokens
    return Work(most, written + assume.accepted * min(assume.hint_tokens, hint.max_tokens))


def memory(config: RunConfig) -> Memory | None:
    """What the model's weights take in training; ``None`` for a model of unknown size.

    The trainer holds fp32 weights, gradients and two AdamW moments; with ``update.by_role``, two moments for each role.
    The sampler holds a copy in ``model.dtype`` (``auto`` counts as bfloat16). With an adapter only the adapter has
    gradients and moments, which are left out here. Layers are taken to keep their activations.
    """
    count = PARAMETERS.get(config.model.name)
    if count is None:
        return None
    copy = 4 if config.model.dtype == "float32" else 2
    trained = 0 if config.model.lora_rank else count
    roles = config.update.role_settings()
    kl_coef = max((kl_coef for _, kl_coef in roles.values()), default=config.update.kl_coef)
    frozen = 4 if kl_coef and not config.model.lora_rank else 0
    shape = SHAPES[config.model.name]
    return Memory(
        parameters=count,
        weights=count * (4 + copy),
        gradients=trained * 4,
        optimiser=trained * 8 * max(1, len(roles)),
        reference=count * frozen,
        keys_and_values=_keys_and_values(config, shape, copy),
        activations=_activations(config, shape, copy),
    )


def _keys_and_values(config: RunConfig, shape: Shape, item: int) -> int:
    if config.sampler.type == "server":
        return 0
    rows = config.model.slots + config.model.parked
    a_token = 2 * shape.layers * shape.key_value_heads * shape.head_size * item
    return rows * config.model.max_length * a_token


def _activations(config: RunConfig, shape: Shape, item: int) -> int:
    """One pass takes a row whole, however long, and fills up with others to ``model.micro_batch_tokens``."""
    longest = min(config.model.max_length, max(config.play.max_episode_tokens, config.designer.max_tokens))
    tokens = max(longest, config.model.micro_batch_tokens)
    layers = ACTIVATION_BYTES * item // 2 * shape.hidden * shape.layers
    return tokens * (layers + 2 * 4 * shape.vocabulary)


def lines(config: RunConfig) -> list[str]:
    """The estimate as text, a line a figure."""
    assume = Assumptions()
    found, held = estimate(config, assume), memory(config)
    told = [
        f"estimate: {config.run.cycles} cycles, {found.design_cycles} of them with designs; {found.pool} environments",
        f"  episodes: {found.unhinted} unhinted a cycle, {found.hinted} hinted when due; {found.episodes:,} in all",
        f"  designs: {found.designs.expected:.0f} attempts a design cycle expected, {found.designs.most:.0f} at most; "
        f"{found.designs.expected * found.design_cycles:,.0f} and {found.designs.most * found.design_cycles:,.0f} "
        "in all",
        f"  rows: at most {found.agent_rows} episodes a cycle and {found.designer_rows} designs a design cycle",
        f"  tokens sampled: {found.tokens.expected:.3g} expected, {found.tokens.most:.3g} at most "
        f"(an episode {found.episode_tokens.expected:,.0f} and {found.episode_tokens.most:,.0f}, "
        f"an attempt {found.attempt_tokens.expected:,.0f} and {found.attempt_tokens.most:,.0f})",
        f"  hours of sampling at {TOKENS_PER_SECOND:,} tokens a second: "
        f"{found.tokens.expected / TOKENS_PER_SECOND / 3600:,.1f} expected, "
        f"{found.tokens.most / TOKENS_PER_SECOND / 3600:,.1f} at most",
        f"  expected means: {assume.accepted:.0%} of attempts accepted, {assume.turns:g} turns an episode, replies of "
        f"{assume.reply_share:.0%} and programs of {assume.design_share:.0%} of their limits",
    ]
    if config.play.allocation == "adaptive":
        told.append("  episodes are upper bounds: adaptive allocation stops early where the case is decided")
    return [*told, f"  memory: {_memory_line(config, held)}"]


def _memory_line(config: RunConfig, held: Memory | None) -> str:
    if held is None:
        return f"unknown, since the size of {config.model.name!r} is"
    parts = {
        "weights": held.weights,
        "gradients": held.gradients,
        "optimiser": held.optimiser,
        "reference": held.reference,
        "keys and values": held.keys_and_values,
        "activations of the longest row": held.activations,
    }
    shown = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in parts.items() if size)
    return f"{held.total / 1e9:.1f} GB for {held.parameters / 1e9:.2f} billion parameters ({shown})"
