"""Lessons as rows of token ids, in the very prompts of a run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple, cast

from spadework.config import RunConfig
from spadework.domains.games import GAMES
from spadework.episode import first_observation
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
    """Token ids and which of them are taught."""

    tokens: tuple[int, ...]
    taught: tuple[bool, ...]


class Lessons:
    """Draws rows.

    Args:
        config: of the runs that the model is made for: its prompts are taught.
        template: the model's chat template.
        seed: of all draws.
    """

    def __init__(self, config: RunConfig, template: Template, seed: int) -> None:
        self._config, self._template, self._rng = config, template, random.Random(seed)
        self._opening = agent_opening(config.play, GAMES)

    def play(self) -> Row:
        """A play to imitate."""
        return self._play_row(draw_play(self._rng))

    def design(self) -> Row:
        """A design and its hint to imitate."""
        return self._design_row(draw_design(self._rng))

    def _play_row(self, play: TaughtPlay) -> Row:
        said = first_observation(play.exchanges[0].observation, play.hint)
        chat = self._chat([*self._opening, Message(role="user", content=said)])
        untaught: list[range] = []
        for number, exchange in enumerate(play.exchanges):
            if number:
                chat.observe(Message(role="user", content=exchange.observation))
            before = chat.length
            chat.say(exchange.reply)
            if not exchange.taught:
                untaught.append(range(before, chat.length))
        return _row(chat, untaught)

    def _design_row(self, design: TaughtDesign) -> Row:
        brief = Brief(design.skill, design.document)
        shown = [design.example] if design.example else []
        messages, _ = design_messages(self._config.designer, GAMES, brief, shown)
        head, body = split_program(design.source)
        chat = self._chat(messages, head)
        chat.say(body)
        chat.observe(skeleton_hint_request(GAMES))
        chat.say(design.hint)
        return _row(chat, ())

    def _chat(self, messages: Sequence[Message], prefill: str = "") -> TokenChat:
        nobody = cast(Sampler, None)  # every reply is given
        return TokenChat(nobody, self._template, messages, prefill=prefill)


def lesson_texts(config: RunConfig, seed: int, count: int) -> list[str]:
    """Texts of as many plays and designs, every message by itself: what the tokenizer is fitted to."""
    rng = random.Random(seed)
    texts = [message["content"] for message in agent_opening(config.play, GAMES)]
    for _ in range(count):
        play, design = draw_play(rng), draw_design(rng)
        texts += [part for exchange in play.exchanges for part in (exchange.observation, exchange.reply)]
        texts.append(first_observation("", play.hint))
        messages, prefill = design_messages(config.designer, GAMES, Brief(design.skill, design.document), ())
        texts += [message["content"] for message in messages]
        texts += [prefill, split_program(design.source)[1], skeleton_hint_request(GAMES)["content"], design.hint]
        if design.example:
            shown, _ = design_messages(config.designer, GAMES, Brief(design.skill, design.document), [design.example])
            texts += [message["content"] for message in shown[1:2]]
    return texts


def _row(chat: TokenChat, untaught: Sequence[range]) -> Row:
    """The one segment of a chat that only grew."""
    (segment,) = chat.segments
    without = {place for span in untaught for place in span}
    return Row(segment.tokens, tuple(mask and place not in without for place, mask in enumerate(segment.loss_mask)))
