"""Warm-up: supervised fine-tuning of a small model on the bundled examples, in the very prompts that the run will use.

Three kinds of rows: document -> program, program -> hint, observation -> winning reply. The result is a model folder
in the user's cache, named by the hash of everything that went in.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence

from spadework import types
from spadework.config import RunConfig
from spadework.envs.players import Play
from spadework.policies.base import Chat, Hyperparameters, Message, Policy, Trainer
from spadework.selfplay.examples import ExampleEnvironment
from spadework.selfplay.prompts import agent_opening, design_messages, hint_messages, split_program
from spadework.selfplay.records import Example
from spadework.types import derive_seed

OraclePlays = Callable[[ExampleEnvironment], Awaitable[Sequence[Play]]]
"""Winning plays of an example."""


def warmup_hash(config: RunConfig, examples: Iterable[ExampleEnvironment], versions: str) -> str:
    """Names the result: model, settings, prompts, examples and library versions."""
    parts = {
        "model": config.model.name,
        "seed": config.run.seed,
        "warmup": config.warmup.model_dump(mode="json"),
        "memory": config.memory.model_dump(mode="json"),
        "designer": config.designer.model_dump(mode="json"),
        "opening": list(agent_opening(config.play, config.domain)),
        "examples": [(e.document.text, e.environment.source, e.environment.hint) for e in examples],
        "versions": versions,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


async def warmup_rows(
    policy: Policy, config: RunConfig, examples: Sequence[ExampleEnvironment], oracle: OraclePlays
) -> list[types.Sequence]:
    """The rows of one epoch, each an unweighted mean over its own tokens."""
    rows = []
    for index, example in enumerate(examples):
        rng = random.Random(derive_seed(config.run.seed, "warmup", example.name))
        others = [other for other in examples if other.environment.skill == example.environment.skill]
        shown = rng.choice([other for other in others if other is not example] or [example])
        rows.append(_row(_design_chat(policy, config, example, shown), f"design/{example.name}"))
        rows.append(_row(_hint_chat(policy, config, example), f"hint/{example.name}"))
        for number, play in enumerate(await oracle(example)):
            hint = example.environment.hint if (index + number) % 2 else ""
            rows.append(_row(_play_chat(policy, config, play, hint), f"play/{example.name}/{number}"))
    return rows


async def warm_up(
    trainer: Trainer, config: RunConfig, rows: Sequence[types.Sequence], on_step: Callable[[int, int, float], None]
) -> float:
    """Fit the rows for the configured epochs, shuffled by the run's seed; returns the last epoch's mean loss.

    ``on_step`` is told (steps done, steps in all, loss).
    """
    settings = config.warmup
    per_epoch = -(-len(rows) // settings.batch)
    total, done, loss = per_epoch * settings.epochs, 0, 0.0
    for epoch in range(settings.epochs):
        order = list(rows)
        random.Random(derive_seed(config.run.seed, "warmup-order", epoch)).shuffle(order)
        losses = []
        for start in range(0, len(order), settings.batch):
            batch = order[start : start + settings.batch]
            hp = Hyperparameters(lr=settings.lr * _schedule(done, total), weight_decay=0.0)
            scaled = [_scaled(row, 1.0 / len(batch)) for row in batch]
            losses.append((await trainer.fit(scaled, hp))["loss"])
            done += 1
            on_step(done, total, losses[-1])
        loss = sum(losses) / len(losses)
    return loss


def _schedule(step: int, total: int) -> float:
    """Linear warm-up over the first tenth, then linear decay to a tenth."""
    ramp = max(1, total // 10)
    return (step + 1) / ramp if step < ramp else 1.0 - 0.9 * (step - ramp) / max(1, total - ramp)


def _design_chat(policy: Policy, config: RunConfig, example: ExampleEnvironment, shown: ExampleEnvironment) -> Chat:
    environment = example.environment
    shots = [Example(shown.environment.id, shown.environment.source, "good")] if config.memory.positive else []
    messages, _ = design_messages(config.designer, config.domain, example.document, environment.skill, shots)
    head, body = split_program(environment.source)
    chat = policy.chat(messages, prefill=head)
    chat.say(body)
    return chat


def _hint_chat(policy: Policy, config: RunConfig, example: ExampleEnvironment) -> Chat:
    environment = example.environment
    skeleton = config.designer.skeleton
    chat = policy.chat(hint_messages(config.hint, config.domain, environment.source, skeleton=skeleton))
    chat.say(environment.hint)
    return chat


def _play_chat(policy: Policy, config: RunConfig, play: Play, hint: str) -> Chat:
    first = f"{play.opening}\n\nHINT: {hint}" if hint else play.opening
    chat = policy.chat([*agent_opening(config.play, config.domain), Message(role="user", content=first)])
    for number, action in enumerate(play.actions):
        if number:
            chat.observe(Message(role="user", content=play.steps[number - 1].observation))
        chat.say(action)
    return chat


def _row(chat: Chat, source_id: str) -> types.Sequence:
    segment = chat.segments[-1]
    weight = 1.0 / max(1, segment.sampled)
    return types.Sequence(
        tokens=segment.tokens,
        loss_mask=segment.loss_mask,
        logprobs=segment.logprobs,
        advantages=tuple(weight if sampled else 0.0 for sampled in segment.loss_mask),
        role="designer" if source_id.startswith("design") else "agent",
        group_id="warmup",
        source_id=source_id,
        policy_version=0,
    )


def _scaled(row: types.Sequence, factor: float) -> types.Sequence:
    return dataclasses.replace(row, advantages=tuple(value * factor for value in row.advantages))
