"""The only episode loop: a policy's chat against a session of the sandbox, with the hint of its arm.

Every fault is caught here and becomes part of the episode; none becomes a return.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from spadework.envs.domain import Dialogue
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Limits, Sandbox, Session, Step
from spadework.errors import FaultError
from spadework.policies.base import Chat, Completion, Message, Policy, SamplingParams
from spadework.types import Arm, Ending, Environment, Episode, Fault, Key, Turn

ReturnType = Literal["last", "sum", "discounted"]


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
    log = _Log()
    with policy.attend():
        try:
            session = await sandbox.open(play.environment.source, settings.limits)
            try:
                ending = await _converse(policy, session, play, settings, log)
            finally:
                await session.close()
        except FaultError as error:
            return _episode(play, log, "fault", math.nan, error.fault)
    rewards = [turn.reward for turn in log.turns]
    return _episode(play, log, ending, episode_return(rewards, ending, settings.return_type, settings.discount), None)


def given_up(play: Play, fault: Fault) -> Episode:
    """What stands for an episode that somebody else ended."""
    return _episode(play, _Log(), "fault", math.nan, fault)


def first_observation(opening: str, hint: str) -> str:
    """What the agent sees first: the program's opening, and the hint if there is one."""
    return f"{opening}\n\nHINT: {hint}" if hint else opening


def episode_return(rewards: list[float], ending: Ending, kind: ReturnType = "last", discount: float = 1.0) -> float:
    """The return of an episode, clipped to [-1, 1] (method section 6).

    ``last``: the last step's reward if the program terminated the episode, else 0. ``sum`` and ``discounted`` add up
    the rewards of all steps, however it ended.
    """
    if kind == "last":
        value = rewards[-1] if rewards and ending == "terminated" else 0.0
    else:
        gamma = discount if kind == "discounted" else 1.0
        value = sum(reward * gamma**step for step, reward in enumerate(rewards))
    return min(1.0, max(-1.0, value))


class _Log:
    """What has happened so far, kept outside of the loop so that a fault loses nothing of it."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.last_observation = ""
        self.chat: Chat | None = None


async def _converse(policy: Policy, session: Session, play: Play, settings: PlaySettings, log: _Log) -> Ending:
    step = await session.reset(play.seed)
    first = first_observation(step.observation, play.hint)
    chat = log.chat = policy.chat((*settings.opening, Message(role="user", content=first)), tools=session.tools)
    observation = first
    dialogue = find_domain(play.environment.domain).dialogue
    while True:
        room = min(settings.sampling.max_tokens, settings.max_episode_tokens - chat.length)
        if room <= 0:
            return "token_limit"
        completion = await chat.reply(_capped(settings.sampling, room), (*play.key, len(log.turns)))
        if completion.finish_reason == "length":
            log.turns.append(Turn(observation, completion.text, "", 0.0))
            return "token_limit"
        step = await _act(session, dialogue, completion, observation, log)
        if step.done:
            return "terminated" if step.terminated else "truncated"
        if len(log.turns) >= session.max_turns:
            return "truncated"
        observation = step.observation
        for message in dialogue.messages(observation, log.turns[-1].action):
            chat.observe(message)


async def _act(session: Session, dialogue: Dialogue, completion: Completion, observation: str, log: _Log) -> Step:
    action = dialogue.action(completion.text)
    step = await session.step(action)
    malformed = not action or dialogue.malformed(action)
    log.turns.append(Turn(observation, completion.text, action, step.reward, malformed))
    log.last_observation = step.observation
    return step


def _capped(params: SamplingParams, room: int) -> SamplingParams:
    return params if room >= params.max_tokens else dataclasses.replace(params, max_tokens=room)


def _episode(play: Play, log: _Log, ending: Ending, return_: float, fault: Fault | None) -> Episode:
    return Episode(
        id=play.id,
        cycle=play.cycle,
        environment_id=play.environment.id,
        arm=play.arm,
        index=play.index,
        seed=play.seed,
        turns=tuple(log.turns),
        segments=log.chat.segments if log.chat is not None else (),
        ending=ending,
        return_=return_,
        last_observation=log.last_observation,
        fault=fault,
    )
