"""What programs must survive, where they run, and which of them are in play."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spadework.config.base import Section


class ValidationSection(Section):
    """What a program must survive (method section 4)."""

    reward_bound: float = Field(1.0, gt=0)
    """Rewards lie in [-bound, bound]; the paper's code allows 10."""
    seeds: int = Field(6, ge=2)
    """How many seeds the program is reset with."""
    panel: bool = True
    """Whether oracle, no-op, random and copying players are tried."""
    grading: bool = True
    """Whether the oracle's answer is varied: the same in another form, and near misses. ``false`` is quicker."""
    model_check: bool = False
    """In a domain with a prompt for it (tool use): ask the policy whether every criterion can be met by some tool, and
    reject what cannot."""
    model_check_attempts: int = Field(3, ge=1)
    """A verdict that is empty or cannot be read is asked for again; after the last try the attempt is a fault."""
    model_check_tokens: int = Field(2_048, ge=8)
    """The most tokens of a verdict."""
    model_check_prompt: str | None = None
    """As ``designer.prompt``, for that check."""
    refuse_copies: bool = True
    """Reject a program that has the structure and numbers of one in the pool, memory, or the examples."""
    max_cosine: float | None = Field(None, gt=0, le=1)
    """Also reject one whose embedding is this near to an accepted one's."""
    embedder: str = "hashed"
    """What embeds programs: ``hashed`` (words and pairs of words), ``minilm``, a folder or a hub name."""


class SandboxSection(Section):
    """Where programs run."""

    type: Literal["forkserver", "process", "ray"] = "forkserver"
    """``process`` starts an interpreter for each instance: the slow reference. ``ray`` runs a fork server on every node
    of a Ray cluster."""
    ray_address: str | None = None
    """Address of the Ray cluster, as ``ray.init`` takes it (``auto``, ``HOST:PORT``). Unset: this machine alone."""
    require: tuple[str, ...] = ("rlimits", "no_new_privs", "seccomp")
    """Layers without which nothing runs; `spadework doctor` shows which hold here."""
    unsafe: bool = False
    """Run programs even where those are missing: only for programs that you trust."""
    max_instances: int = Field(4_096, ge=1)
    """Live instances at once; further ones wait."""
    max_memory_mb: int = Field(8_192, ge=64)
    """Memory of all instances together; above it the largest is killed."""
    cpu_seconds: float = Field(2.0, gt=0)
    """CPU seconds that one reset, step or other call may take."""
    load_seconds: float = Field(5.0, gt=0)
    """CPU seconds that loading a program may take."""
    wall_seconds: float = Field(20.0, gt=0)
    """Wall seconds that one call may take."""
    memory_mb: int = Field(256, ge=32)
    """Memory of one instance in MiB."""


class PoolSection(Section):
    """The environments in play."""

    seed_examples: bool = False
    """Whether bundled examples stand in for memory and fill empty slots: a small model then has something to play."""
    anchors: tuple[str, ...] = ()
    """Bundled examples that stay in play all through the run, beside the designed ones: a fixed yardstick."""
    source: str | None = None
    """A fixed pool, in any format that ``spadework pool`` reads: environments are drawn from it at every cycle.

    With ``designer.environments = 0`` nothing else is played: the fixed-pool baseline. Those of another domain are left
    out; those without a hint are played unhinted only. Environments of a package are named: ``rlve:16``, ``rlve:400``,
    ``rlve:Sorting,SAT``, ``reasoning-gym:all``, ``reasoning-gym:logic``; they need the extra ``baselines``.
    """
    per_cycle: int = Field(24, ge=1)
    """Environments drawn at a cycle; E of the paper."""
    mix: float | None = Field(None, gt=0, lt=1)
    """The share of drawn environments among drawn and designed ones, in place of the count ``per_cycle``: with
    ``designer.environments = 12``, a mix of 0.25 draws 4 at every cycle. Both train; metrics tell them apart."""
    replay: int = Field(0, ge=0)
    """Environments that have left play, drawn from memory at every cycle and played again, unhinted: they train, and
    show what was forgotten."""
    retire: bool = False
    """Whether mastered and hopeless environments leave their slots at once, until the next design fills these.

    Those of a fixed pool leave its deck, and come back, the longest gone first, once it holds less than a draw takes.
    """
    replacement: bool = False
    """Whether a cycle's draw forgets what earlier ones took; else all of the pool is played before any comes again."""


class DifficultySection(Section):
    """Levels of environments that have them. Defaults: RLVE's, as the paper's baseline runs it (section 9)."""

    controller: Literal["off", "sliding_window", "learning_potential"] = "off"
    """How a fixed pool's levels are drawn: from a window that slides up with the win rate, uniformly or by how far a
    level's return moved; ``off`` plays every environment as it stands. Designed environments that take ``difficulty``
    climb by the same window."""
    tries: int = Field(128, ge=1)
    """Episodes at the top level between looks at their win rate."""
    win_rate: float = Field(0.9, gt=0, le=1)
    """Win rate at the top level that opens the next one."""
    width: int = Field(4, ge=1)
    """Levels in a window, at most."""
    cap: int = Field(20, ge=0)
    """The highest level."""
    explore: float = Field(0.2, ge=0, le=1)
    """Share of draws that are uniform under ``learning_potential``; ours."""
    gamma_fast: float = Field(0.35, ge=0, le=1)
    """Weight of a level's newest return in its fast average, under ``learning_potential``; the authors' value."""
    gamma_slow: float = Field(0.15, ge=0, le=1)
    """The same in its slow average; the level is drawn by how far the two averages lie apart."""
