"""How environments are designed: documents, memory, prompts and hints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spadework.config.base import Section, Thinking
from spadework.config.models import EndpointSection


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
    """Whether the designer is shown past environments at all."""
    size: int = Field(200, ge=1)
    """The most environments that memory holds; beyond it the oldest leave."""
    positive: int = Field(2, ge=0)
    """Good examples in each prompt."""
    negative: int = Field(1, ge=0)
    """Examples in each prompt that are named as too easy or too hard."""
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
    """Attempts at an environment for each slot, each with a fresh document."""
    skills: tuple[str, ...] = ()
    """Skills that designs train; those of the domain when unset: six for games, six others for tool use (method
    section 2)."""
    active_skills: int | None = Field(None, ge=1)
    """Skills in use at a design cycle; the window moves on by as many at each. Unset, the domain says: three for games,
    all of them in tool use."""
    form: Literal["multi_turn", "single"] = "multi_turn"
    """The form of programs in a domain that has both: several instructions one at a time, or one task with an answer.
    With a skeleton either may come."""
    skeleton: bool = False
    """For small models: short examples in the prompt, and the head of the program is given."""
    max_tokens: int = Field(16_384, ge=16)
    """The most tokens of one design."""
    thinking: Thinking = None
    """Whether the designer thinks first: ``off``, ``on``, or the most tokens of a thought, which come on top of
    ``max_tokens``. Otherwise ``max_tokens`` bounds thought and answer together. Unset: as the chat template does."""
    temperature: float = Field(0.6, ge=0)
    """Sampling temperature of designs."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Nucleus sampling of designs; 1 is off."""
    top_k: int = Field(0, ge=0)
    """Only the k likeliest tokens are sampled in designs; 0 is off."""
    grammar: bool = False
    """Bind a skeleton design to a grammar of small programs (needs llguidance): all of them run, few surprise."""
    recent: int = Field(96, ge=8)
    """How many of the newest designs the collapse alarm looks at."""
    min_vendi: float = Field(0.1, ge=0, le=1)
    """The alarm goes off when the Vendi score of those designs (TF-IDF), divided by their number, falls below this, or
    when a third of them have one structure."""
    model: str | None = None
    """The model that designs and writes hints where it is not the one in training: ``frozen`` (that model as it
    started), or what ``model.name`` takes. What another model wrote never trains, so ``train`` must be false."""
    endpoint: EndpointSection | None = None
    """Of a designer ``openai:NAME``, where it is not served by ``[endpoint]``."""
    difficulty: bool = False
    """Whether the prompt asks for a constructor with ``difficulty``, whose levels validation then plays too; ours."""
    train: bool = True
    """Whether designs become training rows."""
    train_rejected: bool = False
    """Whether rejected designs do too, with the raw reward below. Small models need it to learn to write valid ones."""
    rejected_reward: float = -0.5
    """The raw reward of a design that validation rejected."""
    prompt: str | None = None
    """The designer's request in your own words: a ``.md`` or ``.txt`` file beside the config, or the text itself. The
    run stores the text. ``spadework prompts`` shows each prompt with its variables, such as ``$document``."""
    system_prompt: str | None = None
    """The same for the designer's system prompt."""
    form_prompt: str | None = None
    """The same for what fills ``$form``: what ``designer.form`` asks of a program."""
    levels_prompt: str | None = None
    """The same for what fills ``$levels`` under ``designer.difficulty``."""
    head_prompt: str | None = None
    """The same for the given head of a skeleton design."""


class HintSection(Section):
    """The hint that the designer writes from its own program (method section 5)."""

    max_words: int = Field(100, ge=1)
    """The most words of a hint, as its prompt asks."""
    max_tokens: int = Field(256, ge=8)
    """The most tokens of a hint."""
    thinking: Thinking = None
    """As ``designer.thinking``, for hints."""
    temperature: float = Field(0.3, ge=0)
    """Sampling temperature of hints."""
    prompt: str | None = None
    """As ``designer.prompt``, for the request of a hint."""
    attempts: int = Field(3, ge=1)
    """A leaking or empty hint is written again; after the last try the environment is rejected."""
    train: bool = False
    """Whether hints train too, as further rows of the designer's role. A hint is paid the regret of its environment,
    whatever ``reward.type`` says: with the program given, regret is all that a hint can change. Not the paper's."""
