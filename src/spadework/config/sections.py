"""The configuration: one frozen section a stage; an unknown key fails (``config.files`` says which was meant).

Defaults are the paper's games run (Table 5 and sections 3 to 5) unless the field says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from spadework.config.base import OpenSection, Section
from spadework.config.rewards import RewardSection
from spadework.types import Role

Thinking = Literal["off", "on"] | Annotated[int, Field(strict=True, ge=1)] | None
"""``off``, ``on``, or a budget in tokens; ``None``: what the model's chat template does by default."""


class RunSection(Section):
    """The run as a whole."""

    seed: int = 0
    """Every draw of the run comes from it."""
    cycles: int = Field(400, ge=1)
    """T of the paper."""
    deterministic: bool = False
    """Admit requests in key order with fixed batch shapes, so that an interrupted run equals an unbroken one."""
    checkpoint_every: int = Field(1, ge=1)
    """Cycles between checkpoints, at least; a killed run loses what came after the last one."""
    checkpoint_minutes: float | None = Field(None, ge=0)
    """Minutes between checkpoints, at least. Unset: checkpoints take no more than a twentieth of the time, so those of
    large models are written seldom and those of small ones after every cycle. A deterministic run goes by
    ``checkpoint_every`` alone."""
    keep_checkpoints: int = Field(2, ge=1)
    """Older ones are deleted."""
    evaluate_every: int = Field(0, ge=0)
    """Cycles between evaluations by ``[eval]``, each at a checkpoint; the last cycle is one too. 0 for none."""
    max_fault_share: float = Field(0.5, gt=0, le=1)
    """The run stops loudly when a larger share of a cycle's episodes fails by the sandbox or the endpoint."""


class ModelSection(Section):
    """Which model, and how it is held."""

    name: str = "smollm2-135m"
    """``scripted``, ``smollm2-135m``, ``scale``, ``tiny-random``, a Hugging Face name or a folder; ``openai:NAME``, a
    model behind an endpoint (``[endpoint]``), which designs, plays and ranks but does not train; or ``tinker:NAME``,
    one that a Tinker server samples and trains (``[tinker]``)."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the sampling copy; training keeps fp32 master weights."""
    threads: int | None = None
    """Torch threads; unset, one for a model of under five million parameters and all cores for any other."""
    slots: int = Field(32, ge=1)
    """Replies sampled at once."""
    lora_rank: int = Field(0, ge=0)
    """0 trains all weights, where the engine can (a Tinker server mostly trains adapters alone)."""
    max_length: int = Field(32_768, ge=64)
    """Tokens of one conversation (method section 6)."""
    micro_batch_tokens: int = Field(1_024, ge=64)
    """Tokens of one forward and backward pass in training, after rows were merged by their common prefixes."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the local engine samples and trains; ``auto`` takes a GPU where there is one."""
    shard: bool = False
    """Divide weights, gradients and moments among the processes of torchrun (FSDP2): for a model that does not fit one
    device (docs/backends.md)."""


class EndpointSection(Section):
    """Where a model ``openai:NAME`` is served (any OpenAI-compatible chat endpoint), and how it is asked."""

    urls: tuple[str, ...] = ()
    """Base addresses, e.g. ``http://localhost:8000/v1``; several that serve the same model share the conversations."""
    weights: tuple[float, ...] = ()
    """Each address's share of the conversations; equal when unset."""
    key_env: str = ""
    """The environment variable that holds the key; unset sends none."""
    server: Literal["openai", "vllm", "sglang"] = "openai"
    """Which server's own fields are asked for: vLLM's and SGLang's give log-probabilities and token ids."""
    tools: Literal["native", "text"] = "native"
    """Whether tools go into the request, or stand as text in the first message, for servers that refuse them."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the endpoint calls the limit of new tokens; some hosted models take the second alone."""
    extra: Mapping[str, Any] = {}
    """Further fields of every request, e.g. ``chat_template_kwargs = {enable_thinking = false}``."""
    without: tuple[str, ...] = ()
    """Fields that the endpoint refuses, e.g. ``temperature`` or ``seed``."""
    concurrency: int = Field(64, ge=1)
    """Most requests at once an address; halved when it is overloaded, and slowly raised again."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Of one attempt, to the last byte."""
    deadline_seconds: float = Field(900.0, gt=0)
    """Of one request with all its attempts and pauses; a longer one is a fault of the endpoint."""
    retries: int = Field(6, ge=0)
    """Further attempts after overload, server errors, broken connections and unusable answers."""
    input_price: float = Field(0.0, ge=0)
    """Of a million prompt tokens, for the cost in the metrics."""
    output_price: float = Field(0.0, ge=0)
    """Of a million sampled tokens."""

    @model_validator(mode="after")
    def _check(self) -> EndpointSection:
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"urls: {url!r} does not begin with http:// or https://")
        if self.weights and (len(self.weights) != len(self.urls) or min(self.weights) <= 0):
            raise ValueError(f"weights: one above 0 for each of the {len(self.urls)} urls")
        return self


class SamplerSection(Section):
    """Who samples for the local trainer."""

    type: Literal["embedded", "server"] = "embedded"
    """``server`` is a vLLM or SGLang server on the same machine: ``endpoint.urls`` (one) and ``endpoint.server``. The
    weights are pushed to it after each update (docs/backends.md)."""
    folder: str | None = None
    """Where a server reads the weights from, e.g. below /dev/shm; written before it is started."""


class TinkerSection(Section):
    """Where a model ``tinker:NAME`` is sampled and trained: hosted, or one's own server (docs/backends.md)."""

    base_url: str | None = None
    """Address of one's own server, e.g. ``http://localhost:8000``; unset for the hosted service."""
    reduction: Literal["auto", "sum", "sequence_mean"] = "auto"
    """How the server reduces a loss. ``auto`` takes hosted servers to sum and SkyRL to average, as its JAX backend
    does; set ``sum`` for SkyRL's other backends."""
    deadline_seconds: float = Field(1_800.0, gt=0)
    """Of each call; a server that does not know the client's protocol says nothing."""
    check_versions: bool = True
    """Refuse client versions that SkyRL is known not to answer."""


class CorpusSection(Section):
    """The grounding documents."""

    enabled: bool = True
    """Whether designs are grounded at all; the no-corpus ablation turns it off."""
    path: str | None = None
    """A JSONL file, ``examples`` or ``scale`` for a bundled one, or unset for none."""
    max_words: int = Field(6_000, ge=1)
    """Words kept of a document: 6,000 for games, 4,000 for tool use."""
    max_tokens: int | None = Field(None, ge=1)
    """A further limit in tokens of the model."""


class MemorySection(Section):
    """Past environments shown to the designer."""

    enabled: bool = True
    size: int = Field(200, ge=1)
    """Oldest out beyond it."""
    positive: int = Field(2, ge=0)
    """Good examples a prompt."""
    negative: int = Field(1, ge=0)
    """Examples named as too easy or too hard."""
    max_tokens: int = Field(8_000, ge=0)
    """Whole programs are shown; those beyond this budget are left out."""
    rewrite: bool = True
    """Whether win rate and regret are written anew in every cycle that plays the environment. The authors' code writes
    them once, in the cycle in which it enters: what the agent has learned since then goes unseen."""


class DesignerSection(Section):
    """Who writes environments, how many and how often."""

    environments: int = Field(24, ge=0)
    """E of the paper; 0 plays a fixed pool only."""
    every: int = Field(4, ge=1)
    """k: cycles between designs; 4 for games, 8 for tool use."""
    attempts: int = Field(5, ge=1)
    """Tries a slot, each with a fresh document."""
    skills: tuple[str, ...] = ()
    """Skills that designs train; those of the domain when unset: six for games, six others for tool use (method
    section 2)."""
    active_skills: int | None = Field(None, ge=1)
    """Skills in use at a design cycle; the window moves on by as many at each. Unset, the domain says: three for games,
    all of them in tool use."""
    form: Literal["multi_turn", "single"] = "multi_turn"
    """Of programs in a domain that has both: several instructions one at a time, or one task with an answer (a
    skeleton: either)."""
    skeleton: bool = False
    """For small models: short examples in the prompt, and the head of the program is given."""
    max_tokens: int = Field(16_384, ge=16)
    thinking: Thinking = None
    """Whether the designer thinks first: ``off``, ``on``, or the most tokens of a thought, which come on top of
    ``max_tokens``. Otherwise ``max_tokens`` bounds thought and answer together. Unset: as the chat template does."""
    temperature: float = Field(0.6, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=0)
    grammar: bool = False
    """Bind a skeleton design to a grammar of small programs (needs llguidance): all of them run, few surprise."""
    recent: int = Field(96, ge=8)
    """Designs that the collapse alarm looks at."""
    min_vendi: float = Field(0.1, ge=0, le=1)
    """Their Vendi score over n (TF-IDF) below which it goes off; so it does where a third have one structure."""
    model: str | None = None
    """Who designs and writes hints where it is not the model in training: ``frozen`` (that model as it started), or
    what ``model.name`` takes. What another model wrote never trains: ``train`` must be false."""
    endpoint: EndpointSection | None = None
    """Of a designer ``openai:NAME``, where it is not served by ``[endpoint]``."""
    difficulty: bool = False
    """Whether the prompt asks for a constructor with ``difficulty``, whose levels validation then plays too; ours."""
    train: bool = True
    """Whether designs become training rows."""
    train_rejected: bool = False
    """Whether rejected designs do too, with the raw reward below. Small models need it to learn to write valid ones."""
    rejected_reward: float = -0.5


class HintSection(Section):
    """The hint that the designer writes from its own program (method section 5)."""

    max_words: int = Field(100, ge=1)
    max_tokens: int = Field(256, ge=8)
    thinking: Thinking = None
    """As ``designer.thinking``, for hints."""
    temperature: float = Field(0.3, ge=0)
    attempts: int = Field(3, ge=1)
    """A leaking or empty hint is written again; after the last try the environment is rejected."""
    train: bool = False
    """Whether hints train too, as further rows of the designer's role. A hint is paid the regret of its environment,
    whatever ``reward.type`` says: with the program given, regret is all that a hint can change. Not the paper's."""


class ValidationSection(Section):
    """What a program must survive (method section 4)."""

    reward_bound: float = Field(1.0, gt=0)
    """Rewards lie in [-bound, bound]; the paper's code allows 10."""
    seeds: int = Field(6, ge=2)
    """Seeds that it is reset with."""
    panel: bool = True
    """Whether oracle, no-op, random and copying players are tried."""
    model_check: bool = False
    """In a domain with a prompt for it (tool use): ask the policy whether every criterion can be met by some tool, and
    reject what cannot."""
    model_check_attempts: int = Field(3, ge=1)
    """A verdict that is empty or cannot be read is asked for again; after the last try the attempt is a fault."""
    model_check_tokens: int = Field(2_048, ge=8)
    refuse_copies: bool = True
    """Reject a program that has the structure and numbers of one in the pool, memory, or the examples."""
    max_cosine: float | None = Field(None, gt=0, le=1)
    """Also reject one whose embedding is this near to an accepted one's."""
    embedder: str = "hashed"
    """Of programs: ``hashed`` (words and pairs of words), ``minilm``, a folder or a hub name."""


class SandboxSection(Section):
    """Where programs run."""

    type: Literal["forkserver", "process", "ray"] = "forkserver"
    """``process`` starts an interpreter for each instance: the slow reference. ``ray`` runs a fork server on every node
    of a Ray cluster."""
    ray_address: str | None = None
    """Of the cluster, as ``ray.init`` takes it (``auto``, ``HOST:PORT``); this machine alone when unset."""
    require: tuple[str, ...] = ("rlimits", "no_new_privs", "seccomp")
    """Layers without which nothing runs; `spadework doctor` shows which hold here."""
    unsafe: bool = False
    """Run programs even where those are missing: only for programs that you trust."""
    max_instances: int = Field(4_096, ge=1)
    """Live instances at once; further ones wait."""
    max_memory_mb: int = Field(8_192, ge=64)
    """Memory of all instances together; above it the largest is killed."""
    cpu_seconds: float = Field(2.0, gt=0)
    load_seconds: float = Field(5.0, gt=0)
    wall_seconds: float = Field(20.0, gt=0)
    memory_mb: int = Field(256, ge=32)


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


class FewShot(Section):
    """One exchange shown before the first observation."""

    observation: str
    reply: str


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
    max_tokens: int = Field(8_192, ge=1)
    """New tokens a turn."""
    thinking: Thinking = None
    """As ``designer.thinking``, for the agent's turns."""
    max_episode_tokens: int = Field(32_768, ge=16)
    temperature: float = Field(0.6, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    """The authors' recipes use 0.95 with top-k 20, which biases the importance ratio."""
    top_k: int = Field(0, ge=0)
    system: str | None = None
    """Replaces the agent's system prompt."""
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
    mask_truncated: bool = False
    """Whether truncated episodes are left out of training."""
    mask_malformed: bool = False
    """Whether replies without an action, or with a tool call that cannot be read, are left out of training."""


class ConstantLengthSettings(Section):
    """The length that ``update.average = "constant_length"`` divides every sample by."""

    tokens: int = Field(8_192, ge=1)


class RoleUpdate(Section):
    """What one role's optimiser step changes."""

    lr: float | None = Field(None, gt=0)
    """Learning rate; ``update.lr`` when unset. The schedule holds for it too."""
    kl_coef: float | None = Field(None, ge=0)
    """Weight of the KL term; ``update.kl_coef`` when unset."""


class RoleUpdates(Section):
    """Settings of ``update.by_role``, a table a role."""

    agent: RoleUpdate = RoleUpdate()
    designer: RoleUpdate = RoleUpdate()


class UpdateSection(OpenSection):
    """The optimiser and the loss (method section 8)."""

    average: str = "token_mean"
    """How the samples of a role share its loss: ``token_mean`` (each token alike), ``sample_mean`` (each sample alike,
    as in the authors' runs), ``constant_length`` (Dr. GRPO), an installed plug-in, or ``module:Class`` of your own."""
    constant_length: ConstantLengthSettings = ConstantLengthSettings()
    lr: float = Field(1e-6, gt=0)
    clip_low: float = Field(0.2, gt=0)
    clip_high: float = Field(0.28, gt=0)
    importance_cap: float = Field(2.0, gt=0)
    kl_coef: float = Field(0.0, ge=0)
    grad_clip: float = Field(1.0, gt=0)
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.98, ge=0, lt=1)
    weight_decay: float = Field(0.1, ge=0)
    minibatches: int = Field(1, ge=1)
    """Optimiser steps a batch; with ``by_role``, of each role."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate falls from its full value after the warm-up to 0 at the end of the run."""
    warmup_steps: int = Field(0, ge=0)
    """Cycles over which the learning rate first rises to its full value, in equal steps."""
    ratio: Literal["token", "sequence"] = "token"
    """Whether the clipped ratio belongs to each token, or to a whole row: the geometric mean over its tokens (GSPO).
    GSPO's own clip range is much narrower: 0.0003 below and 0.0004 above."""
    kl_rows: Literal["trained", "all"] = "trained"
    """Rows that the KL and entropy terms see: those with an advantage, or all that were sampled for training, as in the
    authors' code."""
    entropy_coef: float = Field(0.0, ge=0)
    """Weight of a bonus for the entropy of the policy's distribution."""
    by_role: bool = False
    """Whether agent and designer rows take an optimiser step each, with moments of their own, so that a large gradient
    of one role does not shrink the steps of the other. The moments then take twice the memory. Not the paper's."""
    roles: RoleUpdates = RoleUpdates()
    """What a role's own step changes, e.g. ``[update.roles.designer]`` with ``lr = 3e-6``."""

    @model_validator(mode="after")
    def _check_roles(self) -> UpdateSection:
        if not self.by_role and self.roles != RoleUpdates():
            raise ValueError("roles: settings of a role need its own optimiser step: set update.by_role = true")
        return self

    def role_settings(self) -> dict[Role, tuple[float, float]]:
        """Learning rate and KL coefficient of each role's own step; empty where one step takes all rows."""
        if not self.by_role:
            return {}
        own: dict[Role, RoleUpdate] = {"agent": self.roles.agent, "designer": self.roles.designer}
        found = {}
        for role, settings in own.items():
            lr = self.lr if settings.lr is None else settings.lr
            kl_coef = self.kl_coef if settings.kl_coef is None else settings.kl_coef
            found[role] = (lr, kl_coef)
        return found


class WarmupSection(Section):
    """Supervised fine-tuning on the bundled examples, for small models; cached by content."""

    enabled: bool = False
    epochs: int = Field(4, ge=1)
    lr: float = Field(1e-4, gt=0)
    batch: int = Field(8, ge=1)
    transcripts: int = Field(4, ge=0)
    """Winning transcripts an example."""
    levels: tuple[str, ...] = ("trivial", "easy")
    """Examples used, by level."""
    max_program: int = Field(760, ge=100)
    """Characters of a program; longer ones teach a small model only to write what does not run, but are played."""


class LessonsSection(Section):
    """Families of small tasks that stand in for the bundled examples: a warm-up in which hints carry information, seeds
    of pool and memory, and held-out games (docs/default-job.md).
    """

    families: str | None = None
    """``words`` for the word games that ship, or a TOML file of your own in the same form; its Python runs in this
    process. Unset: the bundled examples are what a model is warmed up on and what seeds its pool."""
    plays: int = Field(480, ge=1)
    """Games of the warm-up, each played without and with its hint."""
    designs: int = Field(160, ge=0)
    """Designs of the warm-up."""


class EvalSection(Section):
    """What ``run.evaluate_every`` scores (docs/evals.md)."""

    suites: tuple[str, ...] = ()
    """Suites of ``spadework eval``, under the preset ``paper``."""
    data: Mapping[str, str] = {}
    """The user's file of each suite that needs one."""
    pool: str | None = None
    """Held-out environments, in any format that ``spadework pool`` reads; played in both arms. ``lessons``: the
    held-out games of ``lessons.families``, played with another game's hint too."""
    episodes: int = Field(8, ge=1)
    """Of each held-out environment and arm."""
    at_start: bool = False
    """Whether the model is scored before the first cycle too, for a gain to be measured against."""
    limit: int | None = Field(None, ge=1)
    """Problems asked of each group of a suite; all when unset."""
    max_tokens: int | None = Field(None, ge=1)
    """Of a reply, instead of the preset's: for models with short contexts."""
    max_fault_share: float = Field(0.1, ge=0, le=1)
    """Share of a suite's items that may fail by endpoint, model, sandbox or scorer; with more there is no score. One
    item always may. ``spadework eval`` keeps to it too."""


class TrackSection(Section):
    """Where metrics go beside the run directory; each tracker's own environment variables hold (docs/metrics.md)."""

    to: tuple[Literal["tensorboard", "csv", "wandb", "mlflow", "trackio"], ...] | None = None
    """Trackers beside ``metrics.jsonl``. Unset: TensorBoard where it is installed. Not the paper's."""
    project: str = Field("spadework", min_length=1)
    """Project (of MLflow: experiment) that the run stands in; it is named after its directory."""


class RunConfig(Section):
    """A whole run."""

    domain: str = "games"
    """The kind of environment: ``games``, ``tool_use``, that of an installed plug-in, or one of your own as
    ``module:NAME`` or ``file.py:NAME`` (docs/own-domain.md)."""
    run: RunSection = RunSection()
    model: ModelSection = ModelSection()
    endpoint: EndpointSection = EndpointSection()
    sampler: SamplerSection = SamplerSection()
    tinker: TinkerSection = TinkerSection()
    corpus: CorpusSection = CorpusSection()
    memory: MemorySection = MemorySection()
    designer: DesignerSection = DesignerSection()
    hint: HintSection = HintSection()
    validation: ValidationSection = ValidationSection()
    sandbox: SandboxSection = SandboxSection()
    pool: PoolSection = PoolSection()
    difficulty: DifficultySection = DifficultySection()
    play: PlaySection = PlaySection()
    agent: AgentSection = AgentSection()
    reward: RewardSection = RewardSection()
    update: UpdateSection = UpdateSection()
    warmup: WarmupSection = WarmupSection()
    lessons: LessonsSection = LessonsSection()
    eval: EvalSection = EvalSection()
    track: TrackSection = TrackSection()

    @model_validator(mode="after")
    def _check(self) -> RunConfig:
        if self.designer.grammar and not self.designer.skeleton:
            raise ValueError("designer.grammar binds skeleton designs only: set designer.skeleton=true")
        self._check_seeds()
        self._check_deadline()
        self._check_sampler()
        if self.run.evaluate_every and not (self.eval.suites or self.eval.pool):
            raise ValueError("run.evaluate_every needs something to score: eval.suites or eval.pool")
        if self.designer.model is not None and self.designer.train:
            raise ValueError(
                "designer.model designs, and what another model wrote never trains: set designer.train=false"
            )
        if self.designer.model is not None and self.hint.train:
            raise ValueError(
                "designer.model writes the hints, and what another model wrote never trains: set hint.train=false"
            )
        if not (self.designer.environments or self.pool.anchors or self.pool.source):
            raise ValueError("nothing to play: designer.environments is 0, without pool.anchors or pool.source")
        if self.pool.mix is not None and not (self.pool.source and self.designer.environments):
            raise ValueError(
                "pool.mix is a share of drawn environments among designed ones: it needs pool.source, and "
                "designer.environments above 0"
            )
        skills, active = self.designer.skills, self.designer.active_skills
        if skills and active is not None and active > len(skills):
            raise ValueError(f"designer.active_skills is {active}, but there are {len(skills)} skills")
        return self

    def _check_deadline(self) -> None:
        """What depends on the clock repeats itself in no run."""
        play = self.play
        if play.deadline_seconds is not None and self.run.deterministic:
            raise ValueError("play.deadline_seconds goes by the clock: leave it unset in a run.deterministic run")
        if play.carry_over and play.deadline_seconds is None:
            raise ValueError("play.carry_over needs play.deadline_seconds")
        if play.carry_over and play.allocation == "adaptive":
            raise ValueError('play.carry_over needs play.allocation = "fixed": the rule weighs one cycle\'s seeds')

    def _check_sampler(self) -> None:
        """A server must be known by its calls, and promises no determinism."""
        if self.sampler.type == "embedded":
            return
        if self.sampler.folder is None or len(self.endpoint.urls) != 1 or self.endpoint.server == "openai":
            raise ValueError(
                'sampler.type = "server" needs sampler.folder, one address in endpoint.urls, and endpoint.server = '
                '"vllm" or "sglang"'
            )
        if self.run.deterministic or self.designer.grammar:
            raise ValueError('run.deterministic and designer.grammar need sampler.type = "embedded"')

    def _check_seeds(self) -> None:
        """Plays of one seed belong together; both arms are looked at after as many episodes."""
        play = self.play
        per_seed = {"reward.plateau.per_seed": self.reward.plateau.per_seed}
        per_seed |= {'agent.advantage = "per_seed"': self.agent.advantage == "per_seed"}
        for name, used in per_seed.items():
            if used and play.plays_per_seed == 1:
                raise ValueError(f"{name} needs play.plays_per_seed above 1")
        counts = {"episodes": play.episodes, "hinted_episodes": self.hinted_episodes}
        if play.allocation == "adaptive":
            if not play.paired:
                raise ValueError('play.allocation = "adaptive" weighs seeds of both arms: it needs play.paired')
            if self.hinted_episodes not in (0, play.episodes):
                raise ValueError('play.allocation = "adaptive" needs play.hinted_episodes unset, or 0')
            counts |= {"start_episodes": play.start_episodes, "batch_episodes": play.batch_episodes}
        for name, count in counts.items():
            if count % play.plays_per_seed:
                raise ValueError(f"play.{name} is {count}: no multiple of play.plays_per_seed = {play.plays_per_seed}")

    @property
    def delay(self) -> int:
        """Cycles between a design and its reward."""
        return self.designer.every if self.reward.delay is None else self.reward.delay

    @property
    def drawn(self) -> int:
        """Environments that a cycle draws from the fixed pool; 0 without one."""
        pool = self.pool
        if pool.source is None:
            return 0
        if pool.mix is None:
            return pool.per_cycle
        return max(1, round(self.designer.environments * pool.mix / (1 - pool.mix)))

    @property
    def hinted_episodes(self) -> int:
        """Hinted episodes of an environment that enters the pool."""
        return self.play.episodes if self.play.hinted_episodes is None else self.play.hinted_episodes
