"""Lessons as rows of token ids, in the same prompts that a run uses."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple, cast

from spadework.config import RunConfig
from spadework.domains.prompt_settings import configured_domain
from spadework.episode import first_observation
from spadework.lessons.chats import design_opening, play_opening, say_design, say_play, whole
from spadework.lessons.designs import TaughtDesign, draw_design
from spadework.lessons.plays import TaughtPlay, draw_play
from spadework.policies.base import Message
from spadework.policies.chat import Sampler, Template, TokenChat
from spadework.selfplay.design.prompts import (
    Brief,
    agent_opening,
    design_messages,
    skeleton_hint_request,
    split_program,
)


class Row(NamedTuple):
    """Token ids, and for each whether it is taught."""

    tokens: tuple[int, ...]
    taught: tuple[bool, ...]


class Lessons:
    """Draws lessons and writes them as rows.

    Args:
        config: A config of the runs that the model is made for: its prompts are taught.
        template: The model's chat template.
        seed: The seed of all lessons.
    """

    def __init__(self, config: RunConfig, template: Template, seed: int) -> None:
        self._config, self._template, self._rng = config, template, random.Random(seed)

    def play(self) -> Row:
        """A play to imitate."""
        return self._play_row(draw_play(self._rng))

    def design(self) -> Row:
        """A design and its hint to imitate."""
        return self._design_row(draw_design(self._rng))

    def _play_row(self, play: TaughtPlay) -> Row:
        chat = self._chat(play_opening(self._config, play))
        return _row(chat, whole(say_play(chat, play)))

    def _design_row(self, design: TaughtDesign) -> Row:
        chat = self._chat(*design_opening(self._config, design))
        say_design(self._config, chat, design)
        return _row(chat, frozenset())

    def _chat(self, messages: Sequence[Message], prefill: str = "") -> TokenChat:
        nobody = cast(Sampler, None)  # every reply is given
        return TokenChat(nobody, self._template, messages, prefill=prefill)


def lesson_texts(config: RunConfig, seed: int, count: int) -> list[str]:
    """The messages of ``count`` plays and ``count`` designs, one by one: the tokenizer is fitted to them."""
    rng, domain = random.Random(seed), configured_domain(config)
    texts = [message["content"] for message in agent_opening(config.play, domain)]
    for _ in range(count):
        play, design = draw_play(rng), draw_design(rng)
        texts += [part for exchange in play.exchanges for part in (exchange.observation, exchange.reply)]
        texts.append(first_observation("", play.hint))
        messages, prefill = design_messages(config.designer, domain, Brief(design.skill, design.document), ())
        texts += [message["content"] for message in messages]
        texts += [
            prefill,
            split_program(design.source)[1],
            skeleton_hint_request(domain)["content"],
            design.hint,
        ]
        if design.example:
            shown, _ = design_messages(config.designer, domain, Brief(design.skill, design.document), [design.example])
            texts += [message["content"] for message in shown[1:2]]
    return texts


def _row(chat: TokenChat, untaught: frozenset[int]) -> Row:
    """The row of a chat. A chat whose history only grows has exactly one segment."""
    (segment,) = chat.segments
    taught = tuple(mask and place not in untaught for place, mask in enumerate(segment.loss_mask))
    return Row(segment.tokens, taught)
