"""The only episode loop: a policy's chat drives an episode in the sandbox, with the hint of its arm.

Every fault is caught here and becomes part of the episode; none becomes a return.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.episode import LiveEpisode, ReturnType
from spadework.errors import FaultError
from spadework.policies.base import Chat, Message, Policy, SamplingParams
from spadework.types import Arm, Environment, Episode, Fault, Key


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """How an episode is played; ``opening`` holds the system prompt and few-shot turns before the first observation."""

    opening: tuple[Message, ...]
    limits: Limits
    sampling: SamplingParams
    max_episode_tokens: int = 32_768
    return_type: ReturnType = "last"
    discount: float = 1.0


@dataclass(frozen=True, slots=True)
class Play:
    """Which episode: ``index`` and ``seed`` are the same for both arms; ``key`` names its draws."""

    environment: Environment
    arm: Arm
    index: int
    seed: int
    cycle: int
    key: Key
    control: str = ""
    """What stands in the hint's place in a control arm."""

    @property
    def id(self) -> str:
        """Names the episode in its run."""
        return f"{self.cycle}-{self.environment.id}-{self.arm[0]}{self.index}"

    @property
    def hint(self) -> str:
        """What the arm shows beside the program's opening; empty in the unhinted arm."""
        return {"unhinted": "", "hinted": self.environment.hint}.get(self.arm, self.control)


async def play_episode(policy: Policy, sandbox: Sandbox, play: Play, settings: PlaySettings) -> Episode:
    """Play one episode to its end. Never raises for a fault: the episode carries it (``ending == "fault"``)."""
    live = LiveEpisode(play.environment.domain, settings.opening, settings.return_type, settings.discount)
    chat: Chat | None = None
    with policy.attend():
        try:
            session = await sandbox.open(play.environment.source, settings.limits)
            try:
                opening = await live.open(session, play.seed, play.hint)
                chat = policy.chat(opening, tools=session.tools)
                await _converse(chat, live, play.key, settings)
            finally:
                await session.close()
        except FaultError as error:
            live.fail(error.fault)
    return _episode(play, live, chat)


def given_up(play: Play, fault: Fault) -> Episode:
    """What stands for an episode that somebody else ended."""
    live = LiveEpisode(play.environment.domain)
    live.fail(fault)
    return _episode(play, live, None)


async def _converse(chat: Chat, live: LiveEpisode, key: Key, settings: PlaySettings) -> None:
    """Let the chat answer until the episode ends, by the program, its turns or the tokens."""
    while not live.done:
        room = settings.max_episode_tokens - chat.length
        if room <= 0:
            live.cut()
            return
        completion = await chat.reply(_capped(settings.sampling, room), (*key, len(live.turns)))
        if completion.finish_reason == "length":
            live.cut(completion.text)
            return
        for message in await live.advance(completion.text):
            chat.observe(message)


def _capped(params: SamplingParams, room: int) -> SamplingParams:
    """The params of a reply of at most ``room`` tokens: the answer is served first, then a thought with a budget."""
    answer = min(params.max_tokens, room)
    thinking = params.thinking
    if isinstance(thinking, int):
        thinking = min(thinking, room - answer)
    return dataclasses.replace(params, max_tokens=answer, thinking=thinking)


def _episode(play: Play, live: LiveEpisode, chat: Chat | None) -> Episode:
    assert live.ending is not None
    return Episode(
        id=play.id,
        cycle=play.cycle,
        environment_id=play.environment.id,
        arm=play.arm,
        index=play.index,
        seed=play.seed,
        turns=tuple(live.turns),
        segments=chat.segments if chat is not None else (),
        ending=live.ending,
        return_=live.return_,
        last_observation=live.last_observation,
        fault=live.fault,
    )
