"""The agent's episodes, and how they become training rows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spadework.config.base import OpenSection, Section, Thinking


class FewShot(Section):
    """One exchange shown before the first observation."""

    observation: str
    """What the program would say."""
    reply: str
    """What the agent answers to it."""


class PlaySection(Section):
    """The agent's episodes."""

    episodes: int = Field(16, ge=1)
    """G: unhinted episodes an environment and cycle."""
    hinted_episodes: int | None = None
    """Hinted ones when an environment enters the pool; as many as unhinted when unset."""
    plays_per_seed: int = Field(1, ge=1)
    """Episodes of an arm that share a seed: above 1 they show how the seeds differ, on fewer seeds."""
    paired: bool = True
    """Whether both arms take the same seeds; unpaired, hinted episodes draw seeds of their own (for comparison)."""
    allocation: Literal["fixed", "adaptive"] = "fixed"
    """``adaptive`` plays less where that leaves the designer's reward as well known (``selfplay.play.allocation``)."""
    start_episodes: int = Field(8, ge=2)
    """Adaptive: episodes of each arm before the first look."""
    batch_episodes: int = Field(6, ge=1)
    """Adaptive: episodes of each arm between looks."""
    tolerance: float = Field(0.18, ge=0)
    """Adaptive: play until the raw reward varies by no more than this over a standard error on either side."""
    max_turns: int = Field(25, ge=1)
    """The most turns of an episode; a program may ask for fewer."""
    max_tokens: int = Field(8_192, ge=1)
    """New tokens a turn."""
    thinking: Thinking = None
    """As ``designer.thinking``, for the agent's turns."""
    max_episode_tokens: int = Field(32_768, ge=16)
    """The most tokens of an episode, observations included."""
    temperature: float = Field(0.6, ge=0)
    """Sampling temperature of the agent."""
    top_p: float = Field(1.0, gt=0, le=1)
    """The authors' recipes use 0.95 with top-k 20, which biases the importance ratio."""
    top_k: int = Field(0, ge=0)
    """Only the k likeliest tokens are sampled; 0 is off."""
    system: str | None = None
    """As ``designer.prompt``, for the agent's system prompt."""
    few_shots: tuple[FewShot, ...] = ()
    """Exchanges shown first; models under a billion parameters score 0 without."""
    control_arms: tuple[Literal["placebo", "answer_only"], ...] = ()
    """Further arms of an environment that enters the pool, as many episodes each as hinted ones, on the same seeds:
    with the hint of another environment, or with what the oracle plays and nothing else. Only reported."""
    concurrency: int = Field(256, ge=1)
    """Episodes at once; without limit in a deterministic run."""
    deadline_seconds: float | None = Field(None, gt=0)
    """Seconds that episodes may take once a cycle's last environment is in play; those that take longer do not hold
    the update and count as faults. Without limit when unset."""
    carry_over: int = Field(0, ge=0)
    """Further cycles that an unhinted episode may go on for after that; it joins its environment's group where it
    ends. What a kill interrupts is lost."""


class PerSeedSettings(Section):
    """How ``agent.advantage = "per_seed"`` compares the plays of one seed."""

    within: Literal["z_score", "mean", "leave_one_out"] = "z_score"
    """The estimator that is applied to each seed's plays alone."""


class AgentSection(OpenSection):
    """How the agent's episodes become training rows (method section 6)."""

    advantage: str = "z_score"
    """``z_score`` of the group (the paper), ``mean`` (the return minus the group's mean: Dr. GRPO), ``leave_one_out``
    (minus the mean of the others: RLOO), ``per_seed`` (each seed's plays alone), the name of an installed plug-in, or
    ``module:Class`` of your own (docs/extending.md). Its settings stand in the table of its name."""
    per_seed: PerSeedSettings = PerSeedSettings()
    train_hinted: bool = False
    """Whether hinted episodes train too, each arm its own group."""
    return_type: Literal["last", "sum", "discounted"] = "last"
    """``last``: the last step's reward if terminated, else 0, clipped to [-1, 1]."""
    discount: float = Field(1.0, gt=0, le=1)
    """Factor for each further step, under ``return_type = "discounted"``."""
    mask_truncated: bool = False
    """Whether truncated episodes are left out of training."""
    mask_malformed: bool = False
    """Whether replies without an action, or with a tool call that cannot be read, are left out of training."""
