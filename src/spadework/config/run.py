"""The configuration of a whole run: its own section, and those of all stages.

An unknown key fails, and ``config.files`` says which key was probably meant.
Defaults are the paper's games run (Table 5 and sections 3 to 5) unless the field says otherwise.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from spadework.config.base import Section
from spadework.config.design import CorpusSection, DesignerSection, HintSection, MemorySection
from spadework.config.environments import DifficultySection, PoolSection, SandboxSection, ValidationSection
from spadework.config.models import EndpointSection, ModelSection, SamplerSection, TinkerSection
from spadework.config.play import AgentSection, PlaySection
from spadework.config.reporting import EvalSection, TrackSection
from spadework.config.rewards import RewardSection
from spadework.config.training import LessonsSection, UpdateSection, WarmupSection


class RunSection(Section):
    """The run as a whole."""

    seed: int = 0
    """Every draw of the run comes from it."""
    cycles: int = Field(400, ge=1)
    """Cycles of the run: T of the paper."""
    deterministic: bool = False
    """Admit requests in key order with fixed batch shapes, so that an interrupted run equals an unbroken one."""
    checkpoint_every: int = Field(1, ge=1)
    """The fewest cycles between checkpoints; a killed run loses what came after the last one."""
    checkpoint_minutes: float | None = Field(None, ge=0)
    """Minutes between checkpoints, at least. Unset: checkpoints take no more than a twentieth of the time, so those of
    large models are written seldom and those of small ones after every cycle. A deterministic run goes by
    ``checkpoint_every`` alone."""
    keep_checkpoints: int = Field(2, ge=1)
    """How many checkpoints are kept; older ones are deleted, but for the best evaluated one."""
    evaluate_every: int = Field(0, ge=0)
    """Cycles between evaluations by ``[eval]``, each at a checkpoint; the last cycle is one too. 0 for none."""
    max_hours: float | None = Field(None, gt=0)
    """Hours of one job: the run stops, with a checkpoint, before a cycle that would take it beyond them."""
    max_tokens: int | None = Field(None, ge=1)
    """Sampled tokens of the whole run, after which it stops with a checkpoint."""
    max_cost: float | None = Field(None, gt=0)
    """What endpoints may cost in the whole run, by ``endpoint.input_price`` and ``endpoint.output_price``."""
    max_fault_share: float = Field(0.5, gt=0, le=1)
    """The run stops, and says why, when a larger share of a cycle's episodes fails, by whomever."""


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
        if self.run.max_cost is not None and not self._has_prices():
            raise ValueError("run.max_cost needs endpoint.input_price or endpoint.output_price: without them it is 0")
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

    def _has_prices(self) -> bool:
        endpoints = [self.endpoint, *([self.designer.endpoint] if self.designer.endpoint else [])]
        return any(one.input_price or one.output_price for one in endpoints)

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
