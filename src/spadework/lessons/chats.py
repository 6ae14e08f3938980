"""Lessons as conversations: what is said in the very prompts of a run, and what of it is taught."""

from __future__ import annotations

from collections.abc import Sequence

from spadework.config import RunConfig
from spadework.domains.prompt_settings import configured_domain
from spadework.episode import first_observation
from spadework.lessons.designs import TaughtDesign
from spadework.lessons.plays import TaughtPlay
from spadework.policies.base import Chat, Message
from spadework.selfplay.design.prompts import (
    Brief,
    agent_opening,
    design_messages,
    skeleton_hint_request,
    split_program,
)


def play_opening(config: RunConfig, play: TaughtPlay) -> list[Message]:
    """What the agent sees before its first reply."""
    said = first_observation(play.exchanges[0].observation, play.hint)
    return [*agent_opening(config.play, configured_domain(config)), Message(role="user", content=said)]


def say_play(chat: Chat, play: TaughtPlay) -> list[range]:
    """Say a play's replies; returns the spans of tokens that are shown and not taught."""
    untaught: list[range] = []
    for number, exchange in enumerate(play.exchanges):
        if number:
            chat.observe(Message(role="user", content=exchange.observation))
        before = chat.length
        chat.say(exchange.reply)
        if not exchange.taught:
            untaught.append(range(before, chat.length))
    return untaught


def design_opening(config: RunConfig, design: TaughtDesign) -> tuple[list[Message], str]:
    """What a small designer sees, and the head of the program that is given."""
    shown = [design.example] if design.example else []
    messages, _ = design_messages(
        config.designer, configured_domain(config), Brief(design.skill, design.document), shown
    )
    return messages, split_program(design.source)[0]


def say_design(config: RunConfig, chat: Chat, design: TaughtDesign) -> None:
    """Say the rest of the program, and the hint when it is asked for."""
    chat.say(split_program(design.source)[1])
    chat.observe(skeleton_hint_request(configured_domain(config)))
    chat.say(design.hint)


def whole(spans: Sequence[range]) -> frozenset[int]:
    """All places of some spans."""
    return frozenset(place for span in spans for place in span)
