"""Warm-up: supervised fine-tuning of a small model, in the very prompts that the run will use.

Its rows come from the bundled examples (``warmup_rows``: document -> program, program -> hint, observation -> winning
reply), or from families of word games (``lessons.warmup``). The result is a model folder in the user's cache, named by
the hash of everything that went in.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence

from spadework import types
from spadework.config import RunConfig
from spadework.domains.prompt_settings import configured_domain, own_prompts
from spadework.envs.check.players import Play
from spadework.episode import first_observation
from spadework.policies.base import Chat, Hyperparameters, Message, Policy, Trainer
from spadework.selfplay.design.examples import ExampleEnvironment
from spadework.selfplay.design.prompts import (
    Brief,
    agent_opening,
    design_messages,
    hint_messages,
    skeleton_hint_request,
    split_program,
)
from spadework.selfplay.records import Example
from spadework.types import derive_seed

EXAMPLE_EVERY = 3
"""Every third design row shows an example. A run's prompts come with examples and without, so the model has to learn
both; rows without one are shorter and cheaper."""

PROMPT_FIELDS = {"prompt", "system_prompt", "form_prompt", "levels_prompt", "head_prompt"}
"""Settings of the designer that count by the prompts that they give."""

OraclePlays = Callable[[ExampleEnvironment], Awaitable[Sequence[Play]]]
"""Gives the oracle's winning plays of an example."""


def warmup_hash(config: RunConfig, examples: Iterable[ExampleEnvironment], versions: str) -> str:
    """A hash of model, settings, prompts, examples and library versions, which names the folder of the result."""
    parts = {
        "model": config.model.name,
        "seed": config.run.seed,
        "warmup": config.warmup.model_dump(mode="json"),
        "lessons": config.lessons.model_dump(mode="json"),
        "memory": config.memory.model_dump(mode="json"),
        "designer": config.designer.model_dump(mode="json", exclude=PROMPT_FIELDS),
        **({"prompts": own} if (own := own_prompts(config)) else {}),
        "opening": list(agent_opening(config.play, configured_domain(config))),
        "examples": [
            (e.document.text, e.environment.source, e.environment.hint, *([e.task.variant] if e.task else []))
            for e in examples
        ],
        "versions": versions,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


async def warmup_rows(
    policy: Policy, config: RunConfig, examples: Sequence[ExampleEnvironment], oracle: OraclePlays
) -> list[types.TrainingRow]:
    """The training rows of one epoch; the loss of each row is the mean over its own tokens."""
    rows = []
    for index, example in enumerate(examples):
        shown = _shown(config, example, examples) if index % EXAMPLE_EVERY == 0 else []
        if len(example.environment.source) <= config.warmup.max_program:
            rows += _design_rows(policy, config, example, shown)
        for number, play in enumerate(await oracle(example)):
            hint = example.environment.hint if (index + number) % 2 else ""
            rows += rows_of(_play_chat(policy, config, play, hint), "agent", f"play/{example.name}/{number}")
    return rows


async def warm_up(
    trainer: Trainer, config: RunConfig, rows: Sequence[types.TrainingRow], on_step: Callable[[int, int, float], None]
) -> float:
    """Train on the rows for the configured epochs, shuffled by the run's seed; returns the last epoch's mean loss.

    ``on_step`` is called with (steps done, steps in total, loss).
    """
    settings = config.warmup
    per_epoch = -(-len(rows) // settings.batch)
    total, done, loss = per_epoch * settings.epochs, 0, 0.0
    for epoch in range(settings.epochs):
        order = list(rows)
        if config.lessons.families is None:  # lessons are drawn in random order, and their pairs stay together
            random.Random(derive_seed(config.run.seed, "warmup-order", epoch)).shuffle(order)
        losses = []
        for start in range(0, len(order), settings.batch):
            batch = order[start : start + settings.batch]
            hp = Hyperparameters(lr=settings.lr * _schedule(done, total), weight_decay=0.0)
            scaled = _weighed(batch, by_token=config.lessons.families is not None)
            losses.append((await trainer.fit(scaled, hp))["loss"])
            done += 1
            on_step(done, total, losses[-1])
        loss = sum(losses) / len(losses)
    return loss


def _schedule(step: int, total: int) -> float:
    """Linear warm-up over the first tenth, then linear decay to a tenth."""
    ramp = max(1, total // 10)
    return (step + 1) / ramp if step < ramp else 1.0 - 0.9 * (step - ramp) / max(1, total - ramp)


def _shown(config: RunConfig, example: ExampleEnvironment, examples: Sequence[ExampleEnvironment]) -> list[Example]:
    """Other examples of the same skill, shown in the prompt as memory will show past environments."""
    rng = random.Random(derive_seed(config.run.seed, "warmup", example.name))
    same = [e.environment for e in examples if e.environment.skill == example.environment.skill and e is not example]
    drawn = rng.sample(same, min(config.memory.positive, len(same))) if config.memory.enabled else []
    return [Example(environment.id, environment.source, "good") for environment in drawn]


def _design_rows(
    policy: Policy, config: RunConfig, example: ExampleEnvironment, shown: Sequence[Example]
) -> list[types.TrainingRow]:
    """Document -> program, and program -> hint: one conversation for a small designer, two for a large one."""
    environment = example.environment
    domain = configured_domain(config)
    brief = Brief(environment.skill, example.document, example.task)
    messages, _ = design_messages(config.designer, domain, brief, shown)
    head, body = split_program(environment.source)
    chat = policy.chat(messages, prefill=head)
    chat.say(body)
    if config.designer.skeleton:
        chat.observe(skeleton_hint_request(domain))
        chat.say(environment.hint)
        return rows_of(chat, "designer", f"design/{example.name}")
    asked = policy.chat(hint_messages(config.hint, domain, environment.source))
    asked.say(environment.hint)
    return rows_of(chat, "designer", f"design/{example.name}") + rows_of(asked, "designer", f"hint/{example.name}")


def _play_chat(policy: Policy, config: RunConfig, play: Play, hint: str) -> Chat:
    domain = configured_domain(config)
    first = Message(role="user", content=first_observation(play.opening, hint))
    chat = policy.chat([*agent_opening(config.play, domain), first], tools=play.tools)
    for number, action in enumerate(play.actions):
        if number:
            for message in domain.dialogue.messages(play.steps[number - 1].observation, play.actions[number - 1]):
                chat.observe(message)
        chat.say(action)
    return chat


def rows_of(chat: Chat, role: types.Role, source_id: str) -> list[types.TrainingRow]:
    """One row per segment; the loss of each is the mean over its own tokens."""
    return [
        types.TrainingRow(
            tokens=segment.tokens,
            loss_mask=segment.loss_mask,
            logprobs=segment.logprobs,
            advantages=tuple(1.0 / segment.sampled if sampled else 0.0 for sampled in segment.loss_mask),
            role=role,
            group_id="warmup",
            source_id=source_id,
            policy_version=0,
        )
        for segment in chat.segments
    ]


def _weighed(batch: Sequence[types.TrainingRow], *, by_token: bool) -> list[types.TrainingRow]:
    """A batch whose loss is the mean over its rows, or over its tokens: written work is long, and answers are short."""
    if not by_token:
        return [_scaled(row, 1.0 / len(batch)) for row in batch]
    tokens = sum(sum(row.loss_mask) for row in batch)
    return [_scaled(row, sum(row.loss_mask) / tokens) for row in batch]


def _scaled(row: types.TrainingRow, factor: float) -> types.TrainingRow:
    return dataclasses.replace(row, advantages=tuple(value * factor for value in row.advantages))
